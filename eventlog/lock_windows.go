package eventlog

import (
	"golang.org/x/sys/windows"

	"go.dw1.io/mmapfile"
)

// lock takes the lock of the one writer, which ends with the handle, and so with
// the process. Locks are mandatory here (LockFileEx), so it is on a byte that no
// file has.
func lock(f *mmapfile.File) error {
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

// unlock leaves it to Close, with which the lock ends.
func unlock(*mmapfile.File) {}
