//go:build linux && !nommap

package mmapfile

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	directFlag = unix.O_DIRECT
	syncFlag   = unix.O_DSYNC
)

// storageOf knows the file systems of disks and flash, whose mappings and
// system calls share one page cache. It has to know them: the networks' ask
// the server again at a system call, and not for a page that is mapped, and FUSE,
// sysfs and the like may mean two different things by the two.
func storageOf(f *os.File) (kind storage) {
	kind = storageRemote
	withFd(f, func(fd int) {
		var fs unix.Statfs_t
		if unix.Fstatfs(fd, &fs) != nil {
			return
		}
		switch uint32(fs.Type) {
		case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
			unix.BCACHEFS_SUPER_MAGIC, zfsMagic, unix.EROFS_SUPER_MAGIC_V1,
			unix.SQUASHFS_MAGIC, unix.ISOFS_SUPER_MAGIC, unix.UDF_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC,
			unix.EXFAT_SUPER_MAGIC, ntfs3Magic, jfsMagic, unix.REISERFS_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC,
			ubifsMagic, unix.RAMFS_MAGIC:
			kind = storageLocal
		case unix.OVERLAYFS_SUPER_MAGIC: // «Non-standard behavior» in filesystems/overlayfs.rst
			kind = storageOverlay
		case unix.TMPFS_MAGIC: // shmem_get_folio in mm/shmem.c allocates at a fault
			kind = storageMemory
		}
	})
	return kind
}

// File systems that x/sys does not name, from their sources.
const (
	zfsMagic   = 0x2fc12fc1
	ntfs3Magic = 0x7366746e
	jfsMagic   = 0x3153464a
	ubifsMagic = 0x24051905
)

// syncsRanges says that msync flushes a range as fsync does the file.
const syncsRanges = true

func syncMapped(data []byte) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Msync(data, unix.MS_SYNC)
	}
	return err
}

func datasync(f *os.File) (err error) {
	cerr := withFd(f, func(fd int) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Fdatasync(fd)
		}
	})
	if cerr != nil {
		return os.ErrClosed
	}
	return err
}

var advices = [...]int{
	Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
	WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED, HugePages: unix.MADV_HUGEPAGE,
	PopulateRead: unix.MADV_POPULATE_READ, PopulateWrite: unix.MADV_POPULATE_WRITE, // 5.14
}

// adviseMemory is madvise(2), which calls advice that it does not know EINVAL.
func adviseMemory(data []byte, a Advice) (err error) {
	for err = unix.EINTR; err == unix.EINTR || err == unix.EAGAIN && a >= PopulateRead; {
		err = unix.Madvise(data, advices[a])
	}
	if err == unix.EINVAL {
		return errors.ErrUnsupported
	}
	return err
}

// prefaultPages has each page of n bytes of f at off, which are data, taken for one
// that was stored to, in one call: what it costs beyond that is the file system's
// part. It fills no holes, and takes apart nothing that is shared with another file.
func prefaultPages(f *os.File, data []byte, off int64) error {
	own := false
	withFd(f, func(fd int) { own = ownBlocks(fd, off, int64(len(data))) })
	if !own {
		return errHoles
	}
	return adviseMemory(data, PopulateWrite)
}

// ownBlocks reports whether the file has blocks of its own for all of n bytes
// at off, as far as it has so many. Of a file system that cannot tell, it asks for
// the number of them.
func ownBlocks(fd int, off, n int64) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	next, end := uint64(off), uint64(min(off+n, st.Size))
	for next < end {
		var m extentMap
		found, errno := m.list(fd, next, end)
		if errno != 0 {
			return st.Blocks*512 >= st.Size
		}
		if len(found) == 0 {
			return false
		}
		for _, x := range found {
			if x.logical > next || x.logical+x.length <= next || x.flags&extentShared != 0 {
				return false
			}
			next = x.logical + x.length
		}
	}
	return true
}

// cachedPages counts the pages of n bytes of f at off that are in the page cache.
func cachedPages(f *os.File, off, n int64) (pages int64, err error) {
	cerr := withFd(f, func(fd int) {
		var stat unix.Cachestat_t
		err = unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &stat, 0)
		pages = int64(stat.Cache)
	})
	if cerr != nil {
		return 0, os.ErrClosed
	}
	return pages, err
}

// inMemory reports whether n bytes of f at off can be read without waiting. A page that is
// being read is in the page cache as well, so the last byte is read too, unless that waits.
func inMemory(f *os.File, off, n int64) (in bool, err error) {
	if n <= 0 {
		return false, nil // no length is the whole file, and an offset of -1 the cursor
	}
	page := int64(pageSize)
	cerr := withFd(f, func(fd int) {
		var stat unix.Cachestat_t
		err = unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &stat, 0)
		if err != nil || int64(stat.Cache) < (off+n-1)/page-off/page+1 {
			return
		}
		var b [1]byte
		var k int
		k, err = unix.Preadv2(fd, [][]byte{b[:]}, off+n-1, unix.RWF_NOWAIT)
		if in = k == 1; err == unix.EAGAIN {
			err = nil
		}
	})
	if cerr != nil {
		return false, os.ErrClosed
	}
	return in, err
}

// markModified does to f what a write does: it sets the modification time to now, notifies
// watchers, and takes the set-user-ID bit and capabilities away. before is the time as the
// last write through the kernel has left it. If it is another one, and not the change time,
// which the kernel moves together with it, then a program has set it, and it stands.
//
// Setting the modification time alone takes the file's owner. To allocate a byte that is
// there already takes none, and is a change of the file with all that belongs to one
// (file_modified in fs/inode.c). Setting both times takes the right to write (utimensat(2)).
func markModified(f *os.File, before int64) {
	withFd(f, func(fd int) {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			return
		}
		now, omit := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}
		set := st.Mtim.Nano() != before && st.Mtim != st.Ctim
		allocate := func() bool {
			return st.Size > 0 && unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1) == nil
		}
		caps, _ := unix.Fgetxattr(fd, "security.capability", nil)
		privileged := caps > 0 || st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0
		switch {
		case privileged && allocate():
			if set {
				setTimes(fd, omit, st.Mtim)
			}
		case set, setTimes(fd, omit, now) == 0, allocate():
		default:
			setTimes(fd, now, now)
		}
	})
}

// setTimes is futimens, which x/sys does not have for Linux.
func setTimes(fd int, access, modification unix.Timespec) unix.Errno {
	ts := [2]unix.Timespec{access, modification}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno
}
