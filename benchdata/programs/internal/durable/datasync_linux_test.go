package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the bytes of a file durable, without its times.
func datasync(f *os.File) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fdatasync(int(f.Fd()))
	}
	return err
}
