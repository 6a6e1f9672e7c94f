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
