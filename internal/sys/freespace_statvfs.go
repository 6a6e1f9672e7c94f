//go:build netbsd || solaris

package sys

import "golang.org/x/sys/unix"

// freeBlocks uses statvfs(2).
func freeBlocks(fd int) (total, free, avail, size int64, err error) {
	var fs unix.Statvfs_t
	err = unix.Fstatvfs(fd, &fs)
	return int64(fs.Blocks), int64(fs.Bfree), int64(fs.Bavail), int64(fs.Frsize), err
}
