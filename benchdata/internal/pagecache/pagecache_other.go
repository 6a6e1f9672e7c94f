//go:build !linux

// Package pagecache drops files from the page cache, and says what is in it.
package pagecache

import "errors"

// Missing says why files cannot be dropped here, if they cannot.
const Missing = "making a file leave the memory needs Linux"

// Drop is there on Linux.
func Drop(string) error { return errors.ErrUnsupported }

// Resident is there on Linux.
func Resident(string) (float64, error) { return 0, errors.ErrUnsupported }
