//go:build unix

package sys

import (
	"errors"
	"runtime"
	"syscall"
)

// cannotSyncNames reports whether err says that there is no such call: the file system has none,
// or is read-only (fsync(2)), or the call needs a descriptor for writing (AIX).
func cannotSyncNames(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EROFS) ||
		runtime.GOOS == "aix" && errors.Is(err, syscall.EBADF)
}
