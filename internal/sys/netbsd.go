//go:build netbsd && !nommap

package sys

import "golang.org/x/sys/unix"

// mountOf uses statvfs(5), whose flags ST_LOCAL and ST_SYNCHRONOUS are those of mount(2).
func mountOf(fd int) (mount, error) {
	var fs unix.Statvfs_t
	err := unix.Fstatvfs(fd, &fs)
	return mount{
		local:  fs.Flag&0x1000 != 0,
		sync:   fs.Flag&unix.MNT_SYNCHRONOUS != 0,
		fsType: unix.ByteSliceToString(fs.Fstypename[:]),
	}, err
}
