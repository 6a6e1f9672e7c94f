//go:build unix && !nommap

package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FlagsSync are the flags of an open call with which a write is durable when it returns.
var FlagsSync = unix.O_SYNC | flagDataSync

// Maps says whether this build maps files.
const Maps = true

// MapShared maps the first length bytes of a file.
func MapShared(fd int, length uintptr, prot int) (unsafe.Pointer, error) {
	return unix.MmapPtr(fd, 0, nil, length, prot, unix.MAP_SHARED)
}

// AccessOf uses the flags of the open call. If flag is negative, because other code has
// opened the file, or has the descriptor, it asks the descriptor.
func AccessOf(f *os.File, flag int) (a Access, err error) {
	if flag < 0 {
		err = Borrow(f, func(fd int) error {
			flag, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			return err
		})
	}
	mode := flag & unix.O_ACCMODE
	a.Read = mode == unix.O_RDONLY || mode == unix.O_RDWR
	a.Write = mode == unix.O_RDWR
	a.Direct = flag&flagDirect != 0
	a.Plain = flag&(unix.O_APPEND|FlagsSync|flagDirect) == 0
	return a, err
}

// MajorFaults counts the page faults of the process that waited for the disk (getrusage(2)).
func MajorFaults() (n int64, ok bool) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0, false
	}
	return int64(usage.Majflt), true
}

// MissingPage returns a page of memory whose access faults, as that of a truncated file
// does if the system can do that without a file's name. It returns nil if there is none.
func MissingPage() (p []byte, free func()) {
	n := uintptr(os.Getpagesize())
	mem, err := mapMissing(n)
	if err != nil {
		return nil, nil
	}
	return unsafe.Slice((*byte)(mem), n), func() { unix.MunmapPtr(mem, n) }
}

func mapInaccessible(n uintptr) (unsafe.Pointer, error) {
	return unix.MmapPtr(-1, 0, nil, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
}
