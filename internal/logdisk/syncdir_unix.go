//go:build unix

package logdisk

import (
	"errors"
	"runtime"
	"syscall"
)

// cannotSyncNames reports whether err says that there is no such call: the file system has none,
// or the call needs a descriptor for writing (AIX). EROFS is a failure: ext4 returns it once an
// error has made it read-only.
func cannotSyncNames(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) ||
		runtime.GOOS == "aix" && errors.Is(err, syscall.EBADF)
}
