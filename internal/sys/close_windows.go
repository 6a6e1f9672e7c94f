package sys

import (
	"os"
	"runtime"

	"golang.org/x/sys/windows"
)

// Close closes f while no other call is about to lock it. In Go 1.26 a Read, Write or Seek
// of a file on Windows takes two locks (readWriteLock in internal/poll/fd_mutex.go). If a
// Close comes between them, it waits for ever. RawConn.Read holds the first lock, so no
// call is between them while its function runs.
func Close(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return f.Close()
	}
	disk := false
	c.Control(func(fd uintptr) {
		kind, err := windows.GetFileType(windows.Handle(fd))
		disk = err == nil && kind == windows.FILE_TYPE_DISK
	})
	if !disk {
		return f.Close() // it must release a read that holds the lock; there is only one lock here
	}
	done := make(chan error, 1)
	if c.Read(func(uintptr) bool {
		go func() { done <- f.Close() }()
		for c.Control(func(uintptr) {}) == nil { // until Close has begun: it ends when this function has returned
			runtime.Gosched()
		}
		return true
	}) != nil {
		return f.Close()
	}
	return <-done
}
