package sys

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Allocate makes f at least size bytes long and allocates its blocks with fallocate(2). The
// file grows only once the blocks are there, so an error leaves the length unchanged.
func Allocate(f *os.File, size int64) error {
	var before unix.Stat_t
	err := Borrow(f, func(fd int) error { return unix.Fstat(fd, &before) })
	if err != nil {
		return err
	}
	has := before.Blocks * 512
	if before.Size >= size && has >= size {
		hole := int64(0)
		if err := Borrow(f, func(fd int) (err error) { hole, err = firstHole(fd, size); return err }); err != nil || hole >= size {
			return nil // nothing to do, so the file's time does not move
		}
	}
	if size > before.Size {
		if err := mayHave(f, size); err != nil {
			return err
		}
	}
	// If the disk becomes full, ext4 keeps what it has allocated until then. Its count of free blocks
	// is exact. Others make room when they are asked to allocate (xfs), or check all of it first (btrfs).
	// The layer of an overlay may be an ext4.
	if keepsBlocks(f) {
		if err := hasRoom(f, size-has); err != nil {
			return err
		}
	}
	err = Borrow(f, func(fd int) error { return fallocate(fd, size) })
	switch {
	case err == unix.EOPNOTSUPP || err == unix.ENOSYS: // NFS before 4.2, FUSE, ext3, ramfs
		return appendZeros(f, size)
	case IsFull(err) && has < before.Size+int64(before.Blksize): // else there were blocks past the end before
		// Taking back what was allocated past the end would lose what another process appends.
		ifAlone(f, func(fd int, now *unix.Stat_t) {
			if now.Blocks > before.Blocks {
				unix.Ftruncate(fd, now.Size)
			}
		})
	}
	return err
}

// keepsBlocks reports whether a file of that file system keeps the blocks of an allocation that has failed.
func keepsBlocks(f *os.File) bool {
	var fs unix.Statfs_t
	err := Borrow(f, func(fd int) error { return unix.Fstatfs(fd, &fs) })
	return err == nil && (uint32(fs.Type) == unix.EXT4_SUPER_MAGIC || uint32(fs.Type) == unix.OVERLAYFS_SUPER_MAGIC)
}

// AllocateRange extends the file from its end, from, to the length to, with its blocks
// allocated (fallocate(2)).
func AllocateRange(f syscall.Conn, from, to int64) error { return allocateRange(f, 0, from, to) }

// AllocateHoles allocates the blocks that are missing between from and to, and leaves the
// length of the file.
func AllocateHoles(f syscall.Conn, from, to int64) error {
	return allocateRange(f, unix.FALLOC_FL_KEEP_SIZE, from, to)
}

// MayBeFull reports whether the file system of f has less room than two large folios, or does not
// tell its room.
func MayBeFull(f syscall.Conn) bool {
	var fs unix.Statfs_t
	err := Borrow(f, func(fd int) error { return unix.Fstatfs(fd, &fs) })
	return err != nil || fs.Blocks == 0 || fs.Bavail*uint64(fs.Bsize) < 4<<20
}

func allocateRange(f syscall.Conn, mode uint32, from, to int64) error {
	return Borrow(f, func(fd int) (err error) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Fallocate(fd, mode, from, to-from)
		}
		return err
	})
}

// fallocate allocates the blocks first, and then extends the file.
func fallocate(fd int, size int64) error {
	for _, mode := range []uint32{unix.FALLOC_FL_KEEP_SIZE, 0} {
		err := unix.EINTR
		for err == unix.EINTR {
			err, _ = unix.Fallocate(fd, mode, 0, size).(unix.Errno)
		}
		if err != 0 {
			return err
		}
	}
	return nil
}

// extentMap is struct fiemap (linux/fiemap.h), with room for some extents.
type extentMap struct {
	start, length        uint64
	flags, mapped, count uint32
	_                    uint32
	extents              [8]extent
}

type extent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

const (
	ioctlFiemap     = 0xC020660B // FS_IOC_FIEMAP
	extentUnwritten = 0x0800     // FIEMAP_EXTENT_UNWRITTEN
	extentShared    = 0x2000     // FIEMAP_EXTENT_SHARED
)

// list returns the first extents of the bytes from off to end.
func (m *extentMap) list(fd int, off, end uint64) ([]extent, unix.Errno) {
	*m = extentMap{start: off, length: end - off, count: uint32(len(m.extents))}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlFiemap, uintptr(unsafe.Pointer(m)))
	return m.extents[:min(int(m.mapped), len(m.extents))], errno
}

// listsExtents reports whether the file system lists the extents of a file.
func listsExtents(fd int) bool {
	var m extentMap
	_, errno := m.list(fd, 0, 1)
	return errno == 0
}

// eachData calls fn for each part of the bytes from off to end that has written blocks, until
// an error. It does not move the cursor. On a file system that does not list its extents
// (tmpfs, NFS), all bytes are one part.
func eachData(fd int, off, end int64, fn func(off, end int64) error) error {
	for next := uint64(off); next < uint64(end); {
		var m extentMap
		found, errno := m.list(fd, next, uint64(end))
		if errno != 0 {
			return fn(int64(next), end)
		}
		if len(found) == 0 {
			return nil
		}
		for _, x := range found {
			from, to := max(x.logical, next), min(x.logical+x.length, uint64(end))
			if to <= from {
				return nil // of no length
			}
			if next = to; x.flags&extentUnwritten != 0 {
				continue
			}
			if err := fn(int64(from), int64(to)); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstHole returns the offset of the first byte before end that has no block, or end. It
// may move the cursor, and leaves it at 0.
func firstHole(fd int, end int64) (int64, error) {
	for next := uint64(0); ; {
		var m extentMap
		found, errno := m.list(fd, next, uint64(end))
		if errno != 0 {
			return seekHole(fd)
		}
		for _, x := range found {
			if x.logical > next {
				return int64(next), nil
			}
			next = max(next, x.logical+x.length)
		}
		if next >= uint64(end) || len(found) == 0 {
			return int64(min(next, uint64(end))), nil
		}
	}
}

// seekHole is firstHole on a file system that does not list its extents (tmpfs, NFS). There
// a block that was allocated and never written is a hole, too.
func seekHole(fd int) (int64, error) {
	hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	if _, serr := unix.Seek(fd, 0, unix.SEEK_SET); err == nil {
		err = serr
	}
	return hole, err
}

// errBlocks means that a mapped write would allocate blocks of the file.
var errBlocks = errors.New("the file has holes or shares blocks")

// CheckBlocks returns an error unless the file has unshared blocks for the n bytes at off, up to
// the end of the file. On a file system that cannot list extents, it goes by the number of
// blocks, and on a tmpfs by what is in memory.
func CheckBlocks(fd int, off, n int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	next, end := uint64(off), uint64(min(off+n, st.Size))
	for next < end {
		var m extentMap
		found, errno := m.list(fd, next, end)
		if errno != 0 && (st.Blocks*512 >= st.Size || tmpfsHas(fd, off, int64(end)-off)) {
			return nil
		}
		if errno != 0 || len(found) == 0 {
			return errBlocks
		}
		for _, x := range found {
			if x.logical > next || x.logical+x.length <= next || x.flags&extentShared != 0 {
				return errBlocks
			}
			next = x.logical + x.length
		}
	}
	return nil
}

// tmpfsHas reports whether the n bytes at off are on a tmpfs, and in memory, which no hole is.
func tmpfsHas(fd int, off, n int64) bool {
	var fs unix.Statfs_t
	var stat unix.Cachestat_t
	page := int64(os.Getpagesize())
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.TMPFS_MAGIC &&
		unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &stat, 0) == nil &&
		int64(stat.Cache) >= (off+n-1)/page-off/page+1
}
