package needle

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	populate        = unix.MAP_POPULATE
	missingPopulate = ""
	// MissingCold says why nothing can be measured on a file that is not in memory.
	MissingCold = ""
)

// Drop asks the system to forget the pages of the file. What Resident says afterwards is what
// counts: on some file systems they stay.
func Drop(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // what is not written yet cannot go
		return err
	}
	return os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// Resident is how much of the file is in memory, from 0 to 1.
func Resident(path string) (share float64, err error) {
	p, err := mapFile(path, 0)
	if err != nil || p == nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(p)) }()
	pageSize := os.Getpagesize()
	vec := make([]byte, (len(p)+pageSize-1)/pageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		return 0, os.NewSyscallError("mincore", errno)
	}
	pages := 0
	for _, v := range vec {
		pages += int(v & 1)
	}
	return float64(pages) / float64(len(vec)), nil
}
