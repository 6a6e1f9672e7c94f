package sys

import (
	"errors"
	"strings"
)

// ErrFull is an error for a full disk.
var ErrFull = errors.New("file system full")

// IsFull reports whether err says that the disk is full. Each file server has its own words:
// "file system full", "disk is full".
func IsFull(err error) bool { return err != nil && strings.Contains(err.Error(), "full") }
