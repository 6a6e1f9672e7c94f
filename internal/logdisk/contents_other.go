//go:build !linux

package logdisk

import (
	"errors"
	"os"
	"syscall"
)

func nextData(syscall.Conn, int64) (from, to int64, err error) { return 0, 0, errors.ErrUnsupported }
func length(uintptr) (int64, error)                            { return 0, errors.ErrUnsupported }

// flushAndDrop does nothing: no system but Linux needs or has a reader of the disk.
func flushAndDrop(*os.File) (Stored, error) { return nil, nil }
