//go:build !linux && !darwin

package mmapfile

import "os"

// allocate makes f at least size bytes long with its blocks.
func allocate(f *os.File, size int64) error {
	return writeZeros(f, size)
}
