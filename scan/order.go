package scan

import (
	"bytes"
	"context"
	"iter"
	"math"
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

// Lines returns an iterator over the lines of f with their offsets, as
// [bytes.Lines] does: each ends with its "\n", but for the last where that has
// none. The lines are the file's own memory, as [mmapfile.File.Bytes] hands it
// out: they are good until Close, and what is cut off by somebody faults when it
// is touched, which is a panic in the body of the loop, on its own goroutine, and
// ends the process elsewhere. Where nothing can be mapped, and on Windows, they
// are copies. It cannot tell of an error: that ends the iteration early, so a
// reader to whom it matters adds up the lengths, or uses [All].
func Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[int64, []byte] {
	return Scanner{}.Lines(ctx, f)
}

// Lines is [Lines] as s says, on the caller's goroutine.
func (s Scanner) Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		src, err := s.open(f)
		if err != nil || src.size == 0 {
			return
		}
		// A fault in the loop's body is a panic, and does not end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		var all []byte
		if !src.reads || mapsForFree {
			all = f.Bytes()
		}
		start := int64(0)
		line := func(end int64) bool {
			var p []byte
			if end <= int64(len(all)) {
				p = all[start:end:end]
			} else if p = readLine(f, start, end); p == nil {
				return false
			}
			off := start
			start = end
			return yield(off, p)
		}
		m, t := matches{reader: reader{source: src}, sep: []byte("\n")}, newTeller(s.Progress)
		for !m.ended {
			if m.more(ctx) != nil {
				return
			}
			for i, at := range m.found {
				if i%promptly == promptly-1 && ctx.Err() != nil || !line(at+1) {
					return
				}
			}
			t.tell(m.off, m.size)
		}
		if start < src.size && !line(src.size) {
			return
		}
		t.end(src.size)
		runtime.KeepAlive(f)
	}
}

// readLine is nil where it cannot be read, or where no slice can be so long.
func readLine(f *mmapfile.File, start, end int64) []byte {
	if end-start > math.MaxInt/2 {
		return nil
	}
	p := make([]byte, end-start)
	if n, _ := f.ReadAt(p, start); n < len(p) {
		return nil
	}
	return p
}
