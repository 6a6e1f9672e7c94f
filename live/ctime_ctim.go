//go:build linux || dragonfly || openbsd || solaris

package live

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns when the file or what the system says of it last changed. No program can set
// it. It is the zero time if the system has none.
func changeTime(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return time.Time{}
}
