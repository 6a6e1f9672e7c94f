//go:build unix && !nommap

package mmapfile

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/sys"
)

const (
	canMap = true
	locked = false // MAP_FIXED replaces a range at once: readers need no lock

	// Pages past the file's end fault until the file has grown to them (mmap(2)).
	mapsBeyondEnd = true

	// OpenBSD has no unified buffer cache: mmap(2) there asks for msync(2)
	// between mapped access and system calls. What is mapped is read and
	// written through the mapping alone, and the rest is synchronised.
	split = runtime.GOOS == "openbsd"
)

// mapLimit is how much of a file is mapped unasked: 512 MiB of the 32-bit
// address space, 64 TiB elsewhere. System calls serve what lies past it.
const mapLimit int64 = 1 << (29 + 17*(^uint(0)>>63))

const errNoMemory = unix.ENOMEM

// memory is the state of a platform without mappings.
//
//lint:ignore U1000 the fallback has a use for it
type memory struct{}

func (f *file) bytesCopy() []byte { return nil }
func (f *file) copied() bool      { return false }

func (f *file) viewCopy(int64, int, func([]byte) error) error { return errors.ErrUnsupported }

// mapFile maps length bytes of f, rounded up to pages, for writing if it can.
// Unless asked for, the mapping is not locked by mlockall(MCL_FUTURE).
func mapFile(f *os.File, length int, write, asked bool) (data []byte, writable bool, err error) {
	length = (length + pageSize - 1) &^ (pageSize - 1)
	cerr := withFd(f, func(fd int) {
		var p unsafe.Pointer
		mmap := sys.MapUnlocked
		if asked {
			mmap = sys.MapShared
		}
		if write {
			p, err = mmap(fd, uintptr(length), unix.PROT_READ|unix.PROT_WRITE)
			writable = err == nil
		}
		// A sealed memfd refuses to be mapped for writing.
		if !write || err == unix.EACCES || err == unix.EPERM {
			p, err = mmap(fd, uintptr(length), unix.PROT_READ)
		}
		if err == nil {
			data = unsafe.Slice((*byte)(p), length)
		}
	})
	if cerr != nil {
		err = cerr
	}
	return data, writable, err
}

// mapPrivate maps length bytes of f, rounded up to pages, copy on write.
func mapPrivate(f *os.File, length int, write bool) (data []byte, err error) {
	length = (length + pageSize - 1) &^ (pageSize - 1)
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	cerr := withFd(f, func(fd int) {
		var p unsafe.Pointer
		if p, err = unix.MmapPtr(fd, 0, nil, uintptr(length), prot, unix.MAP_PRIVATE); err == nil {
			data = unsafe.Slice((*byte)(p), length)
		}
	})
	if cerr != nil {
		err = cerr
	}
	return data, err
}

// reserve replaces the range by one that cannot be touched.
func reserve(data []byte) {
	p, n := unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data))
	if _, err := unix.MmapPtr(-1, 0, p, n, unix.PROT_NONE, unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		// As good, but for the file, which stays referenced until unmap.
		unix.Mprotect(data, unix.PROT_NONE)
	}
	unix.Munlock(data) // or mlockall(MCL_FUTURE) counts it
}

func unmap(data, _ []byte) {
	unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data)))
}

func (f *file) cut(size int64) error { return f.inner.Truncate(size) }

// descriptorMode asks the descriptor: New is given one of which we know nothing.
func descriptorMode(f *os.File, _ int) (m mode, err error) {
	var flag int
	cerr := withFd(f, func(fd int) {
		flag, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	})
	if cerr != nil {
		err = cerr
	}
	access := flag & unix.O_ACCMODE
	m.read = access == unix.O_RDONLY || access == unix.O_RDWR
	m.write = access == unix.O_RDWR
	m.direct = flag&sys.Direct != 0
	m.plain = flag&(unix.O_APPEND|unix.O_SYNC|sys.DataSync|sys.Direct) == 0
	return m, err
}

// withFd calls fn while f cannot be closed.
func withFd(f *os.File, fn func(fd int)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { fn(int(fd)) })
}

// flush starts what fsync does not do by itself: on Linux it flushes mapped
// pages as well (fsync(2): all modified in-core data), elsewhere POSIX leaves
// that to msync. What follows is os.File.Sync, which on Darwin is F_FULLFSYNC
// (internal/poll/fd_fsync_darwin.go): fsync(2) there leaves data in the drive's cache.
func (f *file) flush() error {
	if m := f.m.Load(); m != nil && m.writable && runtime.GOOS != "linux" {
		if n := min(f.size.Load(), int64(len(m.data))); n > 0 {
			return unix.Msync(m.data[:n], unix.MS_SYNC)
		}
	}
	return nil
}

// settle brings what was stored into memory to where system calls see it.
func (f *file) settle(off int64, n int) error {
	if !split {
		return nil
	}
	return f.flush()
}

// absorb brings what a system call wrote to where loads see it.
func (f *file) absorb(b []byte, off int64) {
	if !split {
		return
	}
	if m := f.m.Load(); m != nil {
		unix.Msync(m.data, unix.MS_INVALIDATE)
	}
}
