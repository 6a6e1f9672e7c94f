package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// ifAlone calls fn, with what the system says of f, while no other descriptor of the file is open. A write lease proves
// that, and has others wait for their open (F_SETLEASE in fcntl(2)). It needs a file of the user's.
// The signal that tells of a waiting open is one that a Go program ignores.
func ifAlone(f *os.File, fn func(fd int, now *unix.Stat_t)) error {
	return Borrow(f, func(fd int) error {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(unix.SIGURG)); err != nil {
			return err
		}
		defer unix.FcntlInt(uintptr(fd), unix.F_SETSIG, 0)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			return err
		}
		defer unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		var st unix.Stat_t
		err := unix.Fstat(fd, &st)
		if err == nil {
			fn(fd, &st)
		}
		return err
	})
}

// openElsewhere reports whether another descriptor of f is open. If the file system has no leases, it
// reports false.
func openElsewhere(f *os.File) bool {
	return ifAlone(f, func(int, *unix.Stat_t) {}) == unix.EAGAIN
}

// shorten truncates f to size, if it is end bytes long and no one else has it open.
func shorten(f *os.File, end, size int64) {
	ifAlone(f, func(fd int, now *unix.Stat_t) {
		if now.Size == end {
			unix.Ftruncate(fd, size)
		}
	})
}
