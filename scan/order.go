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
		for !m.ended {
			if err := m.more(ctx); err != nil {
				yield(-1, err)
				return
			}
			for _, at := range m.found {
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
	n := min(m.chunk+extra, m.size-m.off)
	if n > 0 {
		find := m.findSep
		if len(m.sep) == 0 {
			find = m.findRunes
		}
		if err := m.at(m.off, n, find); err != nil {
			return err
		}
	}
	if m.ended = m.off+int64(max(len(m.sep), 1)) > m.size; m.ended && len(m.sep) == 0 {
		m.found = append(m.found, m.size) // behind the last rune
	}
	return nil
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
// none. The lines are the file's own memory, as [mmapfile.File.Chunks] hands it
// out, and are good until Close; those of a file that cannot be mapped are
// copies. An error ends the iteration early: ctx.Err and the File's own calls
// tell of it.
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
		all := f.Bytes()
		start := int64(0)
		line := func(end int64) bool {
			p := []byte(nil)
			if end <= int64(len(all)) {
				p = all[start:end:end]
			} else if p = make([]byte, end-start); !readFull(f, p, start) {
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
			for _, at := range m.found {
				if !line(at + 1) {
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

func readFull(f *mmapfile.File, p []byte, off int64) bool {
	n, _ := f.ReadAt(p, off)
	return n == len(p)
}
