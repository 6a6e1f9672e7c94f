package sys

import "golang.org/x/sys/unix"

// freeBlocks uses statfs(2).
func freeBlocks(fd int) (total, free, avail, size int64, err error) {
	var fs unix.Statfs_t
	err = unix.Fstatfs(fd, &fs)
	return int64(fs.F_blocks), int64(fs.F_bfree), int64(fs.F_bavail), int64(fs.F_bsize), err
}
