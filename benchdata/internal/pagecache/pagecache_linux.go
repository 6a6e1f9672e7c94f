// Package pagecache drops files from the page cache, and says what is in it.
package pagecache

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing says why files cannot be dropped here, if they cannot.
const Missing = ""

// Drop asks the system to forget the pages of the file. What Resident says afterwards is what
// counts: on some file systems they stay, and so do pages that are mapped.
func Drop(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), // dirty pages stay
		os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)), f.Close())
}

// Resident is how much of the file is in memory, from 0 to 1.
func Resident(path string) (share float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	p, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, &fs.PathError{Op: "mmap", Path: path, Err: err}
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
