//go:build netbsd && !nommap

package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// storageOf goes by the mount's own word (ST_LOCAL in statvfs(5), which is MNT_LOCAL).
func storageOf(f *os.File) storage {
	kind := storageRemote
	withFd(f, func(fd int) {
		var fs unix.Statvfs_t
		if unix.Fstatvfs(fd, &fs) == nil && fs.Flag&0x1000 != 0 {
			kind = storageLocal
		}
	})
	return kind
}
