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
	return Borrow(f, func(fd int) error { return unix.Fadvise(fd, 0, 0, advice) })
}

// prefetchPiece is what Linux reads ahead by default. It begins no more for one call than it
// may read ahead, or the device takes in one request (force_page_cache_ra in mm/readahead.c).
const prefetchPiece = 128 << 10

// Prefetch starts to read n bytes of f at off into memory, without holes. The system would
// fill memory with zeros for them, and the caller would wait for that.
func Prefetch(f *os.File, off, n int64) error {
	return Borrow(f, func(fd int) error {
		if n <= prefetchPiece {
			return unix.Fadvise(fd, off, n, fadvWillNeed) // costs less than to look for holes
		}
		return eachData(fd, off, off+n, func(off, end int64) (err error) {
			for ; off < end && err == nil; off += prefetchPiece {
				err = unix.Fadvise(fd, off, min(prefetchPiece, end-off), fadvWillNeed)
			}
			return err
		})
	})
}
