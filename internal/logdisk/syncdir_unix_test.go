//go:build unix

package logdisk_test

import (
	"os"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// A failure is not taken for a system that has no such call.
func TestSyncNames_Failures(t *testing.T) {
	t.Parallel()
	for err, want := range map[syscall.Errno]bool{
		syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.ENOSYS: true,
		syscall.EIO: false, syscall.EROFS: false, syscall.ENOSPC: false, syscall.EDQUOT: false,
	} {
		if got := logdisk.CannotSyncNames(&os.PathError{Op: "sync", Path: "dir", Err: err}); got != want {
			t.Errorf("%v: no such call: %v, want %v", err, got, want)
		}
	}
}
