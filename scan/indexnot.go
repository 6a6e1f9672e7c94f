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

// IndexNot returns the offset of the first byte in f that is not c, or -1. See
// the function [IndexNot].
func (s Scanner) IndexNot(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return s.first(ctx, f, 1, func(p []byte) int { return indexNot(p, c) })
}

const (
	// step is the number of bytes that differ compares. The compiler inlines no more.
	step = 32

	// place is the distance between the four places that one step compares. Linux
	// maps as much for one fault (fault_around_bytes), so faults come in order.
	// Places 16 KiB apart were 10% slower.
	place = 64 << 10
)

// block is an array because constant bounds save the checks of four slices. In
// the cache, that is a fifth of the time.
type block [4 * place]byte

// indexNot returns the index of the first byte of p that is not c, or -1. The
// number of outstanding loads of a core limits it, and loads from four places
// allow more than loads from one. benchdata/needle.md has its rate beside other ways.
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

// consistsOf reports whether b is a repetition of word.
func (b *block) consistsOf(word uint64) bool {
	for i := 0; i <= place-step; i += step {
		if differ((*[step]byte)(b[i:]), word)|differ((*[step]byte)(b[place+i:]), word)|
			differ((*[step]byte)(b[2*place+i:]), word)|differ((*[step]byte)(b[3*place+i:]), word) != 0 {
			return false
		}
	}
	return true
}

// differ returns 0 if b is a repetition of word.
func differ(b *[step]byte, word uint64) uint64 {
	return (binary.NativeEndian.Uint64(b[0:]) ^ word) | (binary.NativeEndian.Uint64(b[8:]) ^ word) |
		(binary.NativeEndian.Uint64(b[16:]) ^ word) | (binary.NativeEndian.Uint64(b[24:]) ^ word)
}
