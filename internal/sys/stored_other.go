//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Stored reads what the disk has of a file: no system but Linux needs or has it.
type Stored struct{}

func FlushAndDrop(*os.File) (*Stored, error)      { return nil, nil }
func (*Stored) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (*Stored) Close() error                      { return nil }
