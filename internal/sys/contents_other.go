//go:build !linux

package sys

import (
	"errors"
	"syscall"
)

func NextData(syscall.Conn, int64) (from, to int64, err error) { return 0, 0, errors.ErrUnsupported }
func Length(uintptr) (int64, error)                            { return 0, errors.ErrUnsupported }
