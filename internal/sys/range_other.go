//go:build !linux

package sys

import (
	"errors"
	"syscall"
)

func AllocateRange(syscall.Conn, int64, int64) error { return errors.ErrUnsupported }

// AllocateHoles returns [errors.ErrUnsupported].
func AllocateHoles(syscall.Conn, int64, int64) error { return errors.ErrUnsupported }

// MayBeFull reports true.
func MayBeFull(syscall.Conn) bool { return true }
