//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Lock locks the file (flock(2)). The lock ends with the descriptor, and so with the
// process.
func Lock(f syscall.Conn) error {
	err := Borrow(f, func(fd int) (err error) {
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

// Unlock releases the lock at once. Closing alone leaves it for a moment with a process
// being started, which has the descriptor until it runs its program.
func Unlock(f syscall.Conn) {
	Borrow(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}
