//go:build openbsd && !nommap

package sys

import "golang.org/x/sys/unix"

// mountOf uses statfs(2).
func mountOf(fd int) (mount, error) {
	var fs unix.Statfs_t
	err := unix.Fstatfs(fd, &fs)
	return mount{local: fs.F_flags&unix.MNT_LOCAL != 0, sync: fs.F_flags&unix.MNT_SYNCHRONOUS != 0}, err
}

// AddressSpace returns 0: OpenBSD has no RLIMIT_AS.
func AddressSpace() int64 { return 0 }
