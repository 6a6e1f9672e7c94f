//go:build !unix

package logdisk

// cannotSyncNames is true: Windows and Plan 9 have no such call, nor may the host of js and
// wasip1.
func cannotSyncNames(error) bool { return true }
