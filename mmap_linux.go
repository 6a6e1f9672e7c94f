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

// keepsHoles reports whether f is on a file system where reading a hole through
// a mapping fills it with memory that is not given back, and whether f has holes: a tmpfs
// allocates the page (shmem_get_folio in mm/shmem.c), which system calls do
// not. On others it is the page cache's.
func keepsHoles(f *os.File) (kept, sparse bool) {
	withFd(f, func(fd int) {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && unix.Fstat(fd, &st) == nil {
			kept, sparse = true, st.Blocks*512 < st.Size
		}
	})
	return kept, sparse
}

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
