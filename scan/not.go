package scan

import (
	"context"
	"encoding/binary"

	"go.dw1.io/mmapfile"
)

// IndexNot returns the offset of the first byte in f that is not c, or -1.
func IndexNot(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return Scanner{}.IndexNot(ctx, f, c)
}

// IndexNot is [IndexNot] as s says.
func (s Scanner) IndexNot(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return s.first(ctx, f, 1, func(p []byte) int { return indexNot(p, c) })
}

const (
	// step is how many bytes differ compares: as many as the compiler inlines.
	step = 32

	// place is how far apart the four places are that one step looks at. It is
	// what Linux maps for one fault (fault_around_bytes), so that faults come in
	// order; places 16 KiB apart were 10% slower.
	place = 64 << 10
)

// block is an array because its constant bounds save the checks of four slices: a
// fifth of the time in the cache.
type block [4 * place]byte

// indexNot returns the index of the first byte of p that is not c, or -1. How
// much a core asks of memory at a time limits it, and it asks for more from four
// places than from one. benchdata/needle has the figures of this and other loops.
func indexNot(p []byte, c byte) int {
	word := 0x01010101_01010101 * uint64(c)
	i := 0
	for len(p)-i >= len(block{}) && (*block)(p[i:]).consistsOf(word) {
		i += len(block{})
	}
	for len(p)-i >= step && differ((*[step]byte)(p[i:]), word) == 0 {
		i += step
	}
	for ; i < len(p); i++ {
		if p[i] != c {
			return i
		}
	}
	return -1
}

// consistsOf reports whether b is word again and again.
func (b *block) consistsOf(word uint64) bool {
	for i := 0; i <= place-step; i += step {
		if differ((*[step]byte)(b[i:]), word)|differ((*[step]byte)(b[place+i:]), word)|
			differ((*[step]byte)(b[2*place+i:]), word)|differ((*[step]byte)(b[3*place+i:]), word) != 0 {
			return false
		}
	}
	return true
}

// differ returns 0 if b is word again and again.
func differ(b *[step]byte, word uint64) uint64 {
	return (binary.NativeEndian.Uint64(b[0:]) ^ word) | (binary.NativeEndian.Uint64(b[8:]) ^ word) |
		(binary.NativeEndian.Uint64(b[16:]) ^ word) | (binary.NativeEndian.Uint64(b[24:]) ^ word)
}
