//go:build !linux

package needle

import "errors"

const (
	populate        = 0
	missingPopulate = "it needs Linux"
	// MissingCold says why nothing can be measured on a file that is not in memory.
	MissingCold = "making a file leave the memory needs Linux"
)

// Drop is there on Linux.
func Drop(string) error { return errors.ErrUnsupported }

// Resident is there on Linux.
func Resident(string) (float64, error) { return 0, errors.ErrUnsupported }
