package sys

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Lock locks the file. The lock ends with the handle, and so with the process. Locks are
// mandatory here (LockFileEx), so it covers a byte that no file has.
func Lock(f syscall.Conn) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := c.Control(func(h uintptr) {
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		err = windows.LockFileEx(windows.Handle(h), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1<<31 - 1})
	})
	switch {
	case cerr != nil:
		return cerr
	case err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING:
		return ErrLocked
	}
	return err
}

// Unlock does nothing: the lock ends with Close.
func Unlock(syscall.Conn) {}
