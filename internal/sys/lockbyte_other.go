//go:build !linux

package sys

import (
	"errors"
	"os"
)

// LockByte returns [errors.ErrUnsupported]: the locks of ranges here belong to the
// process, or are mandatory (Windows).
func LockByte(*os.File, int64, bool) error { return errors.ErrUnsupported }

// UnlockByte does nothing.
func UnlockByte(*os.File, int64) error { return nil }
