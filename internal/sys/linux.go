//go:build linux && !nommap

package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of an open file that not every system has.
const (
	flagDirect   = unix.O_DIRECT
	flagDataSync = unix.O_DSYNC
)

// MapUnlocked maps a file so that mlockall(MCL_FUTURE) neither reads it into memory nor
// locks it. An inaccessible mapping is not populated (mlock_fixup and
// populate_vma_page_range in mm/). It is no longer locked when it becomes accessible.
func MapUnlocked(fd int, length uintptr, prot int) (unsafe.Pointer, error) {
	var fs unix.Statfs_t
	if prot&unix.PROT_WRITE != 0 && (unix.Fstatfs(fd, &fs) != nil || fs.Type == ntfs3Magic || fs.Type == unix.EXFAT_SUPER_MAGIC) {
		return MapShared(fd, length, prot) // ntfs_file_mmap and exfat_file_mmap must see PROT_WRITE
	}
	p, err := MapShared(fd, length, unix.PROT_NONE)
	if err != nil {
		return nil, err
	}
	data := unsafe.Slice((*byte)(p), length)
	if err = unix.Munlock(data); err == nil {
		err = unix.Mprotect(data, prot)
	}
	if err != nil {
		unix.MunmapPtr(p, length)
		return nil, err
	}
	return p, nil
}

// StorageOf returns StorageLocal for known file systems of disks and flash: their mappings
// and system calls share one page cache. The list is needed. Network file systems ask the
// server again at a system call, and not for a mapped page. On FUSE, sysfs and the like,
// the two may give different bytes. writable says that the file is open for writing.
func StorageOf(f *os.File, writable bool) Storage {
	s := StorageRemote
	Borrow(f, func(fd int) error {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return err
		}
		var attr uint32
		if writable {
			attr, _ = unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
		}
		s = storageOf(uint32(fs.Type), int64(fs.Flags), attr)
		if s.Kind() == StorageOverlay && !listsExtents(fd) {
			s |= StorageSparse // the layer may be a tmpfs, and only lseek, which moves the offset, tells what is a hole
		}
		return nil
	})
	return s
}

// storageOf is StorageOf for a file system, its mount flags (statfs(2)), and the attributes of a
// file (ioctl_iflags(2)), which are needed only if it is open for writing.
func storageOf(fsType uint32, mount int64, attr uint32) (s Storage) {
	switch fsType {
	case unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC:
		s = StorageLocal
	case unix.EXT4_SUPER_MAGIC:
		if s = StorageLocal; attr&attrExtents == 0 {
			s |= StorageNoWrites // ext2, ext3, and files of ext4 without extents have no fallocate
		}
	case unix.RAMFS_MAGIC, jfsMagic, unix.REISERFS_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC, ubifsMagic, unix.UDF_SUPER_MAGIC,
		unix.EROFS_SUPER_MAGIC_V1, unix.SQUASHFS_MAGIC, unix.ISOFS_SUPER_MAGIC:
		s = StorageLocal | StorageNoWrites // no fallocate, which MarkModified needs, or read-only
	case unix.EXFAT_SUPER_MAGIC, ntfs3Magic:
		// A write in the middle of a file zeroes what lies between the valid length and its offset
		// (exfat_extend_valid_size, ntfs_extend_initialized_size), and mapped writes before it.
		s = StorageLocal | StorageNoWrites
	case zfsMagic: // it looks for space when it writes back, so a mapped write has no ENOSPC
		s = StorageLocal | StorageNoWrites
	case unix.OVERLAYFS_SUPER_MAGIC: // «Non-standard behavior» in filesystems/overlayfs.rst
		s = StorageOverlay
	case unix.TMPFS_MAGIC: // shmem_get_folio in mm/shmem.c allocates at a fault
		s = StorageMemory | StorageSparse
	default:
		return StorageRemote
	}
	if mount&mountSync != 0 || attr&attrSync != 0 {
		s |= StorageSync | StorageNoWrites
	}
	return s
}

const (
	mountSync = 0x10 // ST_SYNCHRONOUS in linux/statfs.h

	// Attributes of a file, from linux/fs.h.
	attrSync    = 0x8     // FS_SYNC_FL
	attrExtents = 0x80000 // FS_EXTENT_FL
)

// Sealable reports whether f is a memfd that may be sealed against writes. F_SEAL_WRITE fails
// while a file that is open for writing is mapped, if only for reading (F_ADD_SEALS in
// fcntl(2)). A file of a tmpfs has F_SEAL_SEAL.
func Sealable(f *os.File) bool {
	return Borrow(f, func(fd int) error {
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if err == nil && seals&(unix.F_SEAL_SEAL|unix.F_SEAL_WRITE) != 0 {
			return unix.EPERM
		}
		return err
	}) == nil
}

// File systems that x/sys does not name, from their sources.
const (
	zfsMagic   = 0x2fc12fc1
	ntfs3Magic = 0x7366746e
	jfsMagic   = 0x3153464a
	ubifsMagic = 0x24051905
)

// MarkModified does to f what a write does. It sets the modification time to now, notifies
// watchers, and clears the set-user-ID bit and capabilities. before is the time that the
// last write through the kernel has left. The kernel moves the change time with it. If the
// present one differs from before and from the change time, a program has set it, and it
// stands. off is the offset of a byte that was written.
//
// Only the file's owner may set the modification time alone. Allocating a byte that already
// exists needs no such right, and is a change of the file with all its effects
// (file_modified in fs/inode.c). Setting both times needs the right to write
// (utimensat(2)).
func MarkModified(f *os.File, before, off int64) {
	Borrow(f, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		now, omit := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}
		set := st.Mtim.Nano() != before && st.Mtim != st.Ctim
		allocate := func() bool {
			return off < st.Size && unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, 1) == nil
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
		return nil
	})
}

// setTimes is futimens, which x/sys does not have for Linux.
func setTimes(fd int, access, modification unix.Timespec) unix.Errno {
	ts := [2]unix.Timespec{access, modification}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno
}

// CachedPages counts the pages of n bytes of f at off that are in the page cache.
func CachedPages(f *os.File, off, n int64) (pages int64, err error) {
	err = Borrow(f, func(fd int) error {
		var stat unix.Cachestat_t
		err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &stat, 0)
		pages = int64(stat.Cache)
		return err
	})
	return pages, err
}

// InMemory reports whether n bytes of f at off can be read without waiting. A page that is
// still being read is in the page cache as well. So InMemory also reads the last byte,
// unless that waits.
func InMemory(f *os.File, off, n int64) (in bool, err error) {
	if n <= 0 {
		return false, nil // cachestat takes a length of 0 for the whole file, and preadv2 an offset of -1 for the cursor
	}
	page := int64(os.Getpagesize())
	err = Borrow(f, func(fd int) error {
		var stat unix.Cachestat_t
		err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &stat, 0)
		if err != nil || int64(stat.Cache) < (off+n-1)/page-off/page+1 {
			return err
		}
		var b [1]byte
		k, err := unix.Preadv2(fd, [][]byte{b[:]}, off+n-1, unix.RWF_NOWAIT)
		if in = k == 1; err == unix.EAGAIN {
			return nil
		}
		return err
	})
	return in, err
}

// Datasync calls fdatasync(2).
func Datasync(f *os.File) error {
	return Borrow(f, func(fd int) (err error) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Fdatasync(fd)
		}
		return err
	})
}

// Advices are those of madvise(2) for the values for Advise.
var Advices = [...]int{
	Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
	WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED, HugePages: unix.MADV_HUGEPAGE,
	PopulateRead: unix.MADV_POPULATE_READ, PopulateWrite: unix.MADV_POPULATE_WRITE, // 5.14
}

// mapMissing maps a page past the end of an empty file.
func mapMissing(n uintptr) (unsafe.Pointer, error) {
	fd, err := unix.MemfdCreate("missing", unix.MFD_CLOEXEC)
	if err != nil {
		return mapInaccessible(n)
	}
	defer unix.Close(fd)
	return MapShared(fd, n, unix.PROT_READ)
}
