//go:build netbsd && !nommap

package sys

import "golang.org/x/sys/unix"

// mountedLocally uses the flags of the mount (ST_LOCAL in statvfs(5), which is MNT_LOCAL).
func mountedLocally(fd int) bool {
	var fs unix.Statvfs_t
	return unix.Fstatvfs(fd, &fs) == nil && fs.Flag&0x1000 != 0
}
