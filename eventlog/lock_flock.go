//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package eventlog

import (
	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

// lock takes the lock of the one writer, which ends with the descriptor, and so
// with the process (flock(2)).
func lock(f *mmapfile.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := c.Control(func(fd uintptr) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
		}
	})
	switch {
	case cerr != nil:
		return cerr
	case err == unix.EWOULDBLOCK:
		return ErrLocked
	}
	return err
}

// unlock gives the lock back at once. Closing alone leaves it, for a moment, to
// a process that is being started, which has the descriptor until it runs its program.
func unlock(f *mmapfile.File) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.Flock(int(fd), unix.LOCK_UN) })
	}
}
