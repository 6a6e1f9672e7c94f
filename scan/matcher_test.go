package scan

import (
	"bytes"
	"math"
	"testing"
)

// The lowest match is kept, in whatever order the pieces are searched.
func TestMatcher_AnyOrder(t *testing.T) {
	t.Parallel()
	const chunk = 2000
	content := make([]byte, 5*chunk)
	content[chunk+500], content[2*chunk-10], content[4*chunk+7] = 'x', 'x', 'x'
	orders := [][]int64{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {4, 1, 2, 0, 3}, {2, 1, 4, 0, 3}, {2, 4, 1, 3, 0}}
	for _, order := range orders {
		find := func(p []byte) (start, end int) {
			i := bytes.IndexByte(p, 'x')
			return i, i + 1
		}
		src := &source{size: int64(len(content)), chunk: chunk}
		m := &matcher{source: src, find: find, overlap: 1, pieces: 5, start: math.MaxInt64}
		_, window := src.windows(lookBehind, m.overlap+runeLen-1)
		for _, i := range order {
			off, n := window(i)
			if _, err := m.search(i, off, content[off:off+n]); err != nil {
				t.Errorf("order %v, piece %d: %v", order, i, err)
			}
		}
		// The window of piece 2 has the match at 2*chunk-10, but piece 1 a lower one.
		if m.start != chunk+500 || m.end != chunk+501 || m.piece != 1 {
			t.Errorf("order %v: %d to %d in the window of piece %d", order, m.start, m.end, m.piece)
		}
	}
}

// False matches before a piece do not matter if a lower piece has a match, but do
// if only a higher piece has.
func TestMatcher_FalseMatches(t *testing.T) {
	t.Parallel()
	const chunk = 2000
	find := func(p []byte) (start, end int) {
		if p[0] == 'f' {
			return 0, 1
		}
		i := bytes.IndexByte(p, 'x')
		return i, i + 1
	}
	for _, c := range []struct {
		text               string // before the piece
		piece, start, want int64
	}{{"f", 0, 7, 7}, {" ", 2, 2*chunk + 500, chunk + 30}} {
		content := bytes.Repeat([]byte("f"), 3*chunk)
		copy(content[chunk-20:], c.text)
		content[chunk+30] = 'x'
		m := &matcher{source: &source{size: int64(len(content)), chunk: chunk}, find: find, overlap: 1, pieces: 3, start: math.MaxInt64}
		m.keep(c.piece, c.start, c.start+1)
		stop, err := m.search(1, chunk-lookBehind, content[chunk-lookBehind:2*chunk+runeLen])
		if !stop || err != nil || m.start != c.want || m.end != c.want+1 {
			t.Errorf("piece %d has a match at %d: %v, %v, the first is at %d", c.piece, c.start, stop, err, m.start)
		}
	}
}

// Of a match in two windows, the lower piece is recorded, since an error between them would precede it.
func TestMatcher_SameMatchInTwoWindows(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int64{{1, 2}, {2, 1}} {
		m := &matcher{start: math.MaxInt64}
		for _, i := range order {
			m.keep(i, 100, 101)
		}
		if m.start != 100 || m.end != 101 || m.piece != 1 {
			t.Errorf("order %v: %d to %d in the window of piece %d", order, m.start, m.end, m.piece)
		}
	}
}
