//go:build !windows && !plan9

package sys

import (
	"errors"
	"syscall"
)

// IsFull reports whether err says that the disk is full, or the user's share of it.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
