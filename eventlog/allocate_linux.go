package eventlog

import (
	"errors"
	"syscall"

	"go.dw1.io/mmapfile"
)

// warms says that memory is prepared before it is stored to: see Log.warm.
const warms = true

// allocate makes the file, which ends at from, end at to, with its blocks (fallocate(2)).
func allocate(f *mmapfile.File, from, to int64) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := c.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Fallocate(int(fd), 0, from, to-from)
		}
	})
	switch {
	case cerr != nil:
		return cerr
	case errors.Is(err, errors.ErrUnsupported): // NFS before 4.2, FUSE
		return writeZeros(f, from, to)
	}
	return err
}
