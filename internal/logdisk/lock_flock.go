//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package logdisk

import (
	"syscall"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/sys"
)

// lock locks the file (flock(2)). The lock ends with the descriptor, and so with the
// process.
func lock(f syscall.Conn) error {
	err := sys.Borrow(f, func(fd int) (err error) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		}
		return err
	})
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return err
}

// unlock releases the lock at once. Closing alone leaves it for a moment with a process
// being started, which has the descriptor until it runs its program.
func unlock(f syscall.Conn) {
	sys.Borrow(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}
