package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// missingDrop says why files cannot be dropped from the page cache, if they cannot.
const missingDrop = ""

// drop removes the pages of a file from the page cache. The file must not be mapped.
func drop(f *os.File) error {
	if err := f.Sync(); err != nil { // dirty pages stay
		return err
	}
	return os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}
