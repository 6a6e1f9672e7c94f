//go:build !linux || android

package sys

import "os"

// Length returns the length of f if it is a regular file.
func Length(f *os.File) (size int64, regular bool, err error) { return lengthOf(f) }
