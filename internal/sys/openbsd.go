//go:build openbsd && !nommap

package sys

import "golang.org/x/sys/unix"

// mountedLocally uses the flags of the mount (MNT_LOCAL in statfs(2)).
func mountedLocally(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.F_flags&unix.MNT_LOCAL != 0
}

// AddressSpace returns 0: OpenBSD has no RLIMIT_AS.
func AddressSpace() int64 { return 0 }
