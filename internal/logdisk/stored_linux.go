package logdisk

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/sys"
)

// stored reads what the disk has of a file, and not the page cache, in blocks.
type stored struct {
	f   *os.File
	buf []byte
}

const storedAlign = 4 << 10 // of offset, length and memory; no disk asks for more

// flushAndDrop flushes f, and drops its pages, so that f reads what the disk has. After a flush that
// has failed, the pages are clean and not on the disk. If some may have stayed, because another process maps
// them, it returns a reader of the disk. Both are nil where the file has no disk, or the file
// system no such reader.
func flushAndDrop(f *os.File) (Stored, error) {
	if err := f.Sync(); err != nil {
		return nil, err
	}
	left := true
	err := sys.Borrow(f, func(fd int) error {
		var fs unix.Statfs_t
		var stat unix.Cachestat_t
		switch err := unix.Fstatfs(fd, &fs); {
		case err == nil && (uint32(fs.Type) == unix.TMPFS_MAGIC || uint32(fs.Type) == unix.RAMFS_MAGIC):
			left = false
		case unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) != nil:
		case err == nil && uint32(fs.Type) == unix.OVERLAYFS_SUPER_MAGIC: // the pages are those of another inode
		default:
			left = unix.Cachestat(uint(fd), &unix.CachestatRange{}, &stat, 0) != nil || stat.Cache > 0
		}
		return nil
	})
	if err != nil || !left {
		return nil, err
	}
	direct, err := os.OpenFile(f.Name(), os.O_RDONLY|unix.O_DIRECT, 0)
	s := &stored{f: direct}
	if err == nil {
		if _, err = s.ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
			return s, nil
		}
		direct.Close()
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil
	}
	return nil, err
}

// ReadAt is that of *os.File.
func (s *stored) ReadAt(p []byte, off int64) (int, error) {
	skip := int(off % storedAlign)
	need := (skip + len(p) + storedAlign - 1) / storedAlign * storedAlign
	if len(s.buf) < need {
		b := make([]byte, need+storedAlign)
		at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % storedAlign
		s.buf = b[at:][:need]
	}
	n, err := s.f.ReadAt(s.buf[:need], off-int64(skip))
	if n > 0 && errors.Is(err, unix.EINVAL) {
		err = io.EOF // after the last bytes, at an offset that is not aligned
	}
	n = copy(p, s.buf[min(skip, n):n])
	if n == len(p) {
		return n, nil
	}
	return n, err
}

func (s *stored) Close() error { return s.f.Close() }
