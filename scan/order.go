package scan

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"runtime/debug"
	"unicode/utf8"

	"go.dw1.io/mmapfile"
)

// atOnce is how many matches are looked for before the first of them is handed out.
const atOnce = 512

// promptly is after how many of them the context is asked again.
const promptly = 16

// All returns an iterator over the offsets of all sep in f that do not overlap,
// in order: as many as [Count] counts. An error is the last that it yields,
// with the offset -1.
func All(ctx context.Context, f *mmapfile.File, sep []byte) iter.Seq2[int64, error] {
	return Scanner{}.All(ctx, f, sep)
}

// All is [All] as s says, on the caller's goroutine.
func (s Scanner) All(ctx context.Context, f *mmapfile.File, sep []byte) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		src, err := s.open(f)
		if err != nil {
			yield(-1, err)
			return
		}
		m, t := matches{reader: reader{source: src}, sep: bytes.Clone(sep)}, newTeller(s.Progress)
		for !m.ended || ctx.Err() != nil {
			if err := m.more(ctx); err != nil {
				yield(-1, err)
				return
			}
			for i, at := range m.found {
				if i%promptly == promptly-1 && ctx.Err() != nil {
					break // and m.more says so
				}
				if !yield(at, nil) {
					return
				}
			}
			t.tell(m.off, m.size)
		}
		t.end(m.size)
	}
}

// matches finds one match after the other.
type matches struct {
	reader
	sep   []byte
	off   int64 // where to go on
	base  int64 // of the bytes that were read
	read  []byte
	found []int64
	ended bool
}

// more finds the next matches.
func (m *matches) more(ctx context.Context) error {
	m.found = m.found[:0]
	if err := ctx.Err(); err != nil {
		return err
	}
	extra := int64(max(len(m.sep)-1, utf8.UTFMax))
	if n := m.window(m.off, extra); n > 0 {
		find := m.findSep
		if len(m.sep) == 0 {
			find = m.findRunes
		}
		if err := m.look(n, find); err != nil {
			return err
		}
	}
	if m.ended = m.off+int64(max(len(m.sep), 1)) > m.size; m.ended && len(m.sep) == 0 {
		m.found = append(m.found, m.size) // behind the last rune
	}
	return nil
}

// look calls find with n bytes from m.off on. Where these are read, what is left
// of the buffer comes first.
func (m *matches) look(n int64, find func(p []byte) error) (err error) {
	if !m.reads {
		return m.at(m.off, n, find)
	}
	if end := m.base + int64(len(m.read)); m.off < m.base || m.off >= end || end < m.size && end-m.off < int64(max(len(m.sep), utf8.UTFMax)) {
		if m.read, err = m.reader.read(m.off, n); err != nil {
			m.read = nil
			return err
		}
		m.base = m.off
	}
	return find(m.read[m.off-m.base:])
}

func (m *matches) findSep(p []byte) error {
	i := 0
	for len(m.found) < atOnce {
		j := bytes.Index(p[i:], m.sep)
		if j < 0 {
			i = max(i, len(p)-len(m.sep)+1) // none begins before
			break
		}
		m.found = append(m.found, m.off+int64(i+j))
		i += j + len(m.sep)
	}
	m.off += int64(i)
	return nil
}

// findRunes finds the beginnings of runes, those of bytes that are none included.
func (m *matches) findRunes(p []byte) error {
	i := 0
	for len(m.found) < atOnce && i < len(p) && (utf8.FullRune(p[i:]) || m.off+int64(len(p)) == m.size) {
		m.found = append(m.found, m.off+int64(i))
		_, n := utf8.DecodeRune(p[i:])
		i += n
	}
	m.off += int64(i)
	return nil
}

// Line is one line of a file.
type Line struct {
	Offset int64  // of its first byte in the file
	Number int64  // counted from 1
	Text   []byte // with its "\n", which the last line may lack; valid until Close
}

// Lines returns an iterator over the lines of f, divided as by [bytes.Lines].
// An error comes last, once, with the zero Line.
//
// Text is the file's memory, as [mmapfile.File.Bytes] returns it: it is valid
// until Close of f, while f is reachable. If the file is truncated meanwhile,
// touching a lost byte of it is a page fault. In the body of the loop, on its
// own goroutine, that is a panic; elsewhere it ends the process. On Windows, and
// where nothing can be mapped, Text is a copy.
func Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[Line, error] {
	return Scanner{}.Lines(ctx, f)
}

// Lines is [Lines] as s says, on the caller's goroutine.
func (s Scanner) Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		src, err := s.open(f)
		if err != nil {
			yield(Line{}, err)
			return
		}
		// A fault in the loop's body is a panic, and does not end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		l := lines{source: src, yield: yield}
		if !src.reads || mapsForFree {
			l.all = f.Bytes()
		}
		m, t := matches{reader: reader{source: src}, sep: []byte("\n")}, newTeller(s.Progress)
		for !m.ended || ctx.Err() != nil {
			if err := m.more(ctx); err != nil {
				yield(Line{}, err)
				return
			}
			for i, at := range m.found {
				if i%promptly == promptly-1 && ctx.Err() != nil {
					break // m.more returns the error
				}
				if !l.line(at + 1) {
					return
				}
			}
			if m.ended && l.start < src.size && ctx.Err() == nil && !l.line(src.size) {
				return
			}
			t.tell(m.off, m.size)
		}
		t.end(src.size)
		runtime.KeepAlive(f)
	}
}

// lines yields one line after the other.
type lines struct {
	*source
	yield  func(Line, error) bool
	all    []byte // the file's memory, as far as it is mapped
	start  int64  // of the next line
	number int64  // of the previous line
}

// line yields the line that ends at end. It reports whether the loop goes on.
func (l *lines) line(end int64) bool {
	var text []byte
	if end <= int64(len(l.all)) {
		text = l.all[l.start:end:end]
	} else {
		var err error
		r := reader{source: l.source} // whose buffer becomes the line
		if text, err = r.read(l.start, end-l.start); err != nil {
			l.yield(Line{}, err)
			return false
		}
	}
	start := l.start
	l.start = end
	l.number++
	return l.yield(Line{Offset: start, Number: l.number, Text: text}, nil)
}
