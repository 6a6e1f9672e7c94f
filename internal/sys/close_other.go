//go:build !windows

package sys

import "os"

// Close closes f.
func Close(f *os.File) error { return f.Close() }
