//go:build unix

package sys

import (
	"io"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errTooLarge error = syscall.EFBIG

// FileSizeLimit returns how long a file the process may write (RLIMIT_FSIZE).
func FileSizeLimit() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &r) != nil || uint64(r.Cur) > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(r.Cur)
}

// appending calls fn with a function that appends to f, wherever the end is by then. Only the caller
// may have the descriptor, which has O_APPEND meanwhile.
func appending(f *os.File, fn func(write func(b []byte) (int, error)) error) error {
	flags := 0
	err := Borrow(f, func(fd int) (err error) {
		if flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_APPEND)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = fn(f.Write)
	serr := Borrow(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
	if err == nil {
		err = serr
	}
	return err
}

// mayHaveLength reports whether a file there can have a length of size bytes: the system refuses an
// offset that none can have.
func mayHaveLength(f *os.File, size int64) bool {
	_, err := f.Seek(size, io.SeekStart)
	return err == nil
}

// freeSpace returns how many bytes the user may still allocate where f is: root also those that are
// kept for it. A ramfs does not tell.
func freeSpace(f *os.File) (n int64, ok bool) {
	var total, free, avail, size int64
	err := Borrow(f, func(fd int) (err error) {
		total, free, avail, size, err = freeBlocks(fd)
		return err
	})
	if err != nil || total <= 0 || size <= 0 {
		return 0, false
	}
	if os.Geteuid() != 0 {
		free = avail
	}
	return min(max(free, 0), math.MaxInt64/size) * size, true
}
