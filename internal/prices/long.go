//go:build !mmapfile_eager

package prices

// Long is the number of bytes from which on a call earns by its length, and it is measured whether a copy from the
// mapping gains: shorter ones do.
const Long = 16 << 10
