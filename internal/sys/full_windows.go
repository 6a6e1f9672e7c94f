package sys

import (
	"errors"

	"golang.org/x/sys/windows"
)

// ErrFull is the system's error for a full disk.
var ErrFull error = windows.ERROR_DISK_FULL

// IsFull reports whether err says that the disk is full, or the user's share of it.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
