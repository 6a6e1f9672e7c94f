//go:build (darwin || dragonfly || freebsd) && !nommap

package sys

import "golang.org/x/sys/unix"

// mountOf uses statfs(2).
func mountOf(fd int) (mount, error) {
	var fs unix.Statfs_t
	err := unix.Fstatfs(fd, &fs)
	return mount{
		local:  fs.Flags&unix.MNT_LOCAL != 0,
		sync:   fs.Flags&unix.MNT_SYNCHRONOUS != 0,
		fsType: unix.ByteSliceToString(fs.Fstypename[:]),
	}, err
}
