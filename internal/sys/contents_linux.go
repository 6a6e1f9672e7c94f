package sys

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// NextData returns the first range of data at or after off. Past the last one it
// returns io.EOF. It moves the file's cursor (lseek(2), SEEK_DATA).
func NextData(f syscall.Conn, off int64) (from, to int64, err error) {
	cerr := withFd(f, func(fd int) {
		if from, err = unix.Seek(fd, off, unix.SEEK_DATA); err == nil {
			to, err = unix.Seek(fd, from, unix.SEEK_HOLE)
		}
	})
	switch {
	case cerr != nil:
		return 0, 0, cerr
	case err == unix.ENXIO:
		return 0, 0, io.EOF
	case err == unix.EINVAL:
		return 0, 0, errors.ErrUnsupported
	}
	return from, to, err
}

// Length returns the length of an open file, and does not allocate.
func Length(fd uintptr) (int64, error) {
	var st unix.Stat_t
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Fstat(int(fd), &st).(unix.Errno)
	}
	if err != 0 {
		return 0, err
	}
	return st.Size, nil
}
