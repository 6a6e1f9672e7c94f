package sys

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenBeneath opens name for reading in the directory at, which an [os.Root] has opened as ".". dir
// says that it is a directory. After an error, the caller must ask the Root.
//
// os.Root opens each directory on the way, 1 µs each, and its files read the FileInfo of every entry
// when they list a directory. openat2(2), from Linux 5.6 on, resolves a name in one call and follows
// only links that stay below at.
func OpenBeneath(at *os.File, name string) (f *os.File, dir bool, err error) {
	fd, err := unix.Openat2(int(at.Fd()), name, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	runtime.KeepAlive(at)
	if err != nil {
		return nil, false, err
	}
	var st unix.Stat_t
	_ = unix.Fstat(fd, &st)
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFREG && kind != unix.S_IFDIR {
		_ = unix.SetNonblock(fd, true) // as os does, so that Close ends a Read of a FIFO
	}
	return os.NewFile(uintptr(fd), strings.TrimSuffix(at.Name(), ".")+name), kind == unix.S_IFDIR, nil
}
