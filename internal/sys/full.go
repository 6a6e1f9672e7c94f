//go:build !windows && !plan9

package sys

import (
	"errors"
	"syscall"
)

// ErrFull is the system's error for a full disk.
var ErrFull error = syscall.ENOSPC

// IsFull reports whether err says that the disk is full, or the user's share of it.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
