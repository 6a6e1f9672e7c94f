package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate makes f at least size bytes long with its blocks, by fallocate(2).
// It grows only once the blocks are there, so that an error leaves the length alone.
func allocate(f *os.File, size int64) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := c.Control(func(fd uintptr) { err = fallocate(int(fd), size) })
	if cerr != nil {
		return cerr
	}
	// Some file systems (NFS before 4.2, FUSE) have no such call.
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return writeZeros(f, size)
	}
	return err
}

func fallocate(fd int, size int64) error {
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil || before.Size >= size && before.Blocks*512 >= size {
		return err // there is nothing to do, and so the file's time does not move
	}
	for _, mode := range []uint32{unix.FALLOC_FL_KEEP_SIZE, 0} {
		err := unix.EINTR
		for err == unix.EINTR {
			err, _ = unix.Fallocate(fd, mode, 0, size).(unix.Errno)
		}
		if err != 0 {
			// Give back what it got behind the end before the disk was full, and only
			// then: other errors come first, and what others append would be in danger.
			full := err == unix.ENOSPC || err == unix.EDQUOT
			if full && unix.Fstat(fd, &after) == nil && after.Blocks > before.Blocks {
				unix.Ftruncate(fd, after.Size)
			}
			return err
		}
	}
	return nil
}
