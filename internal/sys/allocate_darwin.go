package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Allocate makes f at least size bytes long and allocates its blocks. F_PREALLOCATE
// (fcntl(2)) reserves them past the end, and fails without a change of the file. A call of
// ftruncate after it could take away what another process has appended meanwhile.
func Allocate(f *os.File, size int64) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() >= size {
		return err
	}
	store := unix.Fstore_t{Flags: unix.F_ALLOCATEALL, Posmode: unix.F_PEOFPOSMODE, Length: size - fi.Size()}
	err = Borrow(f, func(fd int) error { return unix.FcntlFstore(uintptr(fd), unix.F_PREALLOCATE, &store) })
	if err != nil && err != unix.ENOTSUP {
		return err
	}
	return appendZeros(f, size)
}
