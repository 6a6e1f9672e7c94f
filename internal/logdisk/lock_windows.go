package logdisk

import (
	"syscall"

	"golang.org/x/sys/windows"

	"go.dw1.io/mmapfile/internal/sys"
)

// lock locks the file. The lock ends with the handle, and so with the process. Locks are
// mandatory here (LockFileEx), so it covers a byte that no file has.
func lock(f syscall.Conn) error {
	err := sys.Borrow(f, func(fd int) error {
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		return windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1<<31 - 1})
	})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return ErrLocked
	}
	return err
}

// unlock does nothing: the lock ends with Close.
func unlock(syscall.Conn) {}
