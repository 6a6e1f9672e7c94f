package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate makes f at least size bytes long with its blocks, by fallocate(2).
func allocate(f *os.File, size int64) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := c.Control(func(fd uintptr) {
		var st unix.Stat_t
		if err = unix.Fstat(int(fd), &st); err != nil || st.Size >= size && st.Blocks*512 >= size {
			return // no need to move the file's time
		}
		for {
			if err = unix.Fallocate(int(fd), 0, 0, size); err != unix.EINTR {
				return
			}
		}
	})
	if cerr != nil {
		return cerr
	}
	// Some file systems (NFS before 4.2, FUSE) have no such call.
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return writeZeros(f, size)
	}
	return err
}
