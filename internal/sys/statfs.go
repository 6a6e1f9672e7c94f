//go:build (darwin || dragonfly || freebsd) && !nommap

package sys

import "golang.org/x/sys/unix"

// mountedLocally uses the flags of the mount (MNT_LOCAL in statfs(2)).
func mountedLocally(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.MNT_LOCAL != 0
}
