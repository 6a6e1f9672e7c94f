//go:build linux || darwin || dragonfly || freebsd || aix

package sys

import "golang.org/x/sys/unix"

// freeBlocks uses statfs(2).
func freeBlocks(fd int) (total, free, avail, size int64, err error) {
	var fs unix.Statfs_t
	err = unix.Fstatfs(fd, &fs)
	return int64(fs.Blocks), int64(fs.Bfree), int64(fs.Bavail), int64(fs.Bsize), err
}
