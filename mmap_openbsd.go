//go:build openbsd && !nommap

package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// storageOf goes by the mount's own word (MNT_LOCAL in statfs(2)).
func storageOf(f *os.File) storage {
	kind := storageRemote
	withFd(f, func(fd int) {
		var fs unix.Statfs_t
		if unix.Fstatfs(fd, &fs) == nil && fs.F_flags&unix.MNT_LOCAL != 0 {
			kind = storageLocal
		}
	})
	return kind
}
