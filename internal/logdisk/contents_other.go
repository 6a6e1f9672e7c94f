//go:build !linux

package logdisk

import (
	"errors"
	"syscall"
)

func nextData(syscall.Conn, int64) (from, to int64, err error) { return 0, 0, errors.ErrUnsupported }
func length(uintptr) (int64, error)                            { return 0, errors.ErrUnsupported }
