//go:build (linux || freebsd) && !nommap

package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// The advice of posix_fadvise(2), which has the same numbers on both systems.
const (
	fadvNormal     = 0
	fadvSequential = 2
	fadvWillNeed   = 3
)

// ReadInOrder tells the system whether f is read in order from now on, so that it reads
// ahead twice as far. It concerns the descriptor alone.
func ReadInOrder(f *os.File, on bool) error {
	advice := fadvNormal
	if on {
		advice = fadvSequential
	}
	return fadvise(f, 0, 0, advice)
}

// prefetchPiece is what Linux reads ahead by default. It begins no more for one call than it
// may read ahead, or the device takes in one request (force_page_cache_ra in mm/readahead.c).
const prefetchPiece = 128 << 10

// Prefetch starts to read n bytes of f at off into memory.
func Prefetch(f *os.File, off, n int64) error {
	for end := off + n; off < end; off += prefetchPiece {
		if err := fadvise(f, off, min(prefetchPiece, end-off), fadvWillNeed); err != nil {
			return err
		}
	}
	return nil
}

func fadvise(f *os.File, off, n int64, advice int) error {
	return Borrow(f, func(fd int) error { return unix.Fadvise(fd, off, n, advice) })
}
