//go:build linux && !nommap

package mmapfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	directFlag = unix.O_DIRECT
	syncFlag   = unix.O_DSYNC
)

// touch sets f's modification time to now. Setting it alone takes the file's
// owner; setting both times takes the right to write (utimensat(2)); and for a
// descriptor that has outlived that right, allocating a byte that is there
// already counts as a change of the file (file_modified in fs/inode.c).
func touch(f *os.File) {
	withFd(f, func(fd int) {
		now := unix.Timespec{Nsec: unix.UTIME_NOW}
		if setTimes(fd, unix.Timespec{Nsec: unix.UTIME_OMIT}, now) != 0 && setTimes(fd, now, now) != 0 {
			unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1)
		}
	})
}

// setTimes is futimens, which x/sys does not have for Linux.
func setTimes(fd int, access, modification unix.Timespec) unix.Errno {
	ts := [2]unix.Timespec{access, modification}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno
}
