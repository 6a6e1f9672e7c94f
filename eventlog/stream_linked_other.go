//go:build !linux

package eventlog

// linked says that no file is used again: see sys.LockByte.
func linked(string) bool { return true }
