package eventlog

import (
	"os"
	"syscall"
)

// linked reports whether a file may have another name, or is a link itself.
func linked(name string) bool {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return true
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink != 1
}
