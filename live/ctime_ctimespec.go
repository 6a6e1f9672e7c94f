//go:build darwin || freebsd || netbsd

package live

import (
	"io/fs"
	"syscall"
	"time"
)

func changeTime(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctimespec.Unix())
	}
	return time.Time{}
}
