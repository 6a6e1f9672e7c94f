package scan

import (
	"bytes"
	"context"
	"iter"
	"unicode/utf8"

	"go.dw1.io/mmapfile"
)

const (
	// batch is the number of matches that are found before the first is yielded.
	batch = 512
	// checkEvery is the number of yields between two checks of the context.
	checkEvery = 16
)

// All returns an iterator over the offsets of all non-overlapping instances of sep in f, in
// order, as many as [Count] returns. If sep is empty, they are the offsets of the runes, and
// the length of the file. The search runs on the caller's goroutine. An error ends the
// iteration, with the offset -1.
func All(ctx context.Context, f *mmapfile.File, sep []byte) iter.Seq2[int64, error] {
	return Scanner{}.All(ctx, f, sep)
}

// All returns an iterator over the offsets of all non-overlapping instances of sep in f. See
// the function [All].
func (s Scanner) All(ctx context.Context, f *mmapfile.File, sep []byte) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		src, err := s.open(f)
		if err != nil {
			yield(-1, err)
			return
		}
		m, progress := matches{reader: reader{source: src}, sep: bytes.Clone(sep)}, newProgress(s.Progress)
		for !m.ended || ctx.Err() != nil {
			if err := m.more(ctx); err != nil {
				yield(-1, err)
				return
			}
			for i, at := range m.found {
				if i%checkEvery == checkEvery-1 && ctx.Err() != nil {
					break // more returns the error
				}
				if !yield(at, nil) {
					return
				}
			}
			progress.report(m.off, m.size)
		}
		progress.end(m.size)
	}
}

// matches finds the matches of sep in order, a batch at a time.
type matches struct {
	reader
	sep   []byte
	off   int64   // where the search continues
	base  int64   // the offset of held
	held  []byte  // the bytes in the buffer, if the file is read
	found []int64 // the batch
	ended bool    // the batch is the last
}

// more finds the next batch.
func (m *matches) more(ctx context.Context) error {
	m.found = m.found[:0]
	if err := ctx.Err(); err != nil {
		return err
	}
	after := int64(max(len(m.sep)-1, utf8.UTFMax))
	if n := m.length(m.off, after); n > 0 {
		find := m.findSep
		if len(m.sep) == 0 {
			find = m.findRunes
		}
		if err := m.next(n, find); err != nil {
			return err
		}
	}
	if m.ended = m.off+int64(max(len(m.sep), 1)) > m.size; m.ended && len(m.sep) == 0 {
		m.found = append(m.found, m.size) // after the last rune
	}
	return nil
}

// next calls find with the n bytes at off, or with those of them that are in the
// buffer if find can continue in them.
func (m *matches) next(n int64, find func(p []byte) error) (err error) {
	if !m.reads {
		return m.at(m.off, n, find)
	}
	end := m.base + int64(len(m.held))
	if m.off < m.base || m.off >= end || end < m.size && end-m.off < int64(max(len(m.sep), utf8.UTFMax)) {
		if m.held, err = m.read(m.off, n); err != nil {
			m.held = nil
			return err
		}
		m.base = m.off
	}
	return find(m.held[m.off-m.base:])
}

// findSep finds matches of sep in p.
func (m *matches) findSep(p []byte) error {
	i := 0
	for len(m.found) < batch {
		j := bytes.Index(p[i:], m.sep)
		if j < 0 {
			i = max(i, len(p)-len(m.sep)+1) // no match starts before
			break
		}
		m.found = append(m.found, m.off+int64(i+j))
		i += j + len(m.sep)
	}
	m.off += int64(i)
	return nil
}

// findRunes finds the starts of runes in p. An invalid byte counts as a rune.
func (m *matches) findRunes(p []byte) error {
	i := 0
	for len(m.found) < batch && i < len(p) && (utf8.FullRune(p[i:]) || m.off+int64(len(p)) == m.size) {
		m.found = append(m.found, m.off+int64(i))
		_, n := utf8.DecodeRune(p[i:])
		i += n
	}
	m.off += int64(i)
	return nil
}
