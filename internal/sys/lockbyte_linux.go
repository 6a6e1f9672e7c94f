package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// LockByte locks the byte of f at off, without waiting: for this open file alone if
// exclusive is set, and otherwise together with others (fcntl(2), F_OFD_SETLK). The lock
// ends with f. It is independent of that of [Lock].
func LockByte(f *os.File, off int64, exclusive bool) error {
	kind := int16(unix.F_RDLCK)
	if exclusive {
		kind = unix.F_WRLCK
	}
	return lockByte(f, off, kind)
}

// UnlockByte ends a lock of LockByte.
func UnlockByte(f *os.File, off int64) error { return lockByte(f, off, unix.F_UNLCK) }

func lockByte(f *os.File, off int64, kind int16) (err error) {
	cerr := withFd(f, func(fd int) {
		for err = unix.EINTR; err == unix.EINTR; {
			l := unix.Flock_t{Type: kind, Start: off, Len: 1}
			err = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l)
		}
	})
	if cerr != nil {
		return cerr
	}
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrLocked
	}
	return err
}
