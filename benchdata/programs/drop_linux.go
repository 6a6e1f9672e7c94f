package main

import (
	"errors"
	"os"
	"sync"

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

// readPages reads a file page by page without read-ahead, in parallel. The page cache then consists
// of single pages, as after random reads, and not of the large folios that reading in order makes:
// page faults map less at once.
func readPages(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
		return os.NewSyscallError("fadvise", err)
	}
	const readers = 16
	failed := make([]error, readers)
	var running sync.WaitGroup
	for n := range readers {
		running.Go(func() {
			p := make([]byte, pageSize)
			for off := int64(n) * pageSize; off+pageSize <= info.Size() && failed[n] == nil; off += readers * pageSize {
				_, failed[n] = f.ReadAt(p, off)
			}
		})
	}
	running.Wait()
	return errors.Join(append(failed, readAll(f))...) // and the end
}
