//go:build unix && !nommap

package mmapfile

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// platform has the calls of the system about memory: see [vm.Platform].
type platform struct{}

var _ vm.Platform = platform{}

// mapDirectly is the number of bytes up to which a mapping is made in one system call instead
// of three. If the process locks all its memory, it may lock as much of each such file.
const mapDirectly = 64 << 10

// Map maps length bytes of f, rounded up to pages, for writing if it can. Unless asked,
// for Bytes or View, mlockall(MCL_FUTURE) does not lock the mapping.
func (platform) Map(f *os.File, length int, write, asked bool) (data []byte, writable bool, err error) {
	length = wholePages(length)
	err = sys.Borrow(f, func(fd int) (err error) {
		var p unsafe.Pointer
		mmap := sys.MapUnlocked
		if asked || length <= mapDirectly {
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
		return err
	})
	return data, writable, err
}

// MapPrivate maps length bytes of f, rounded up to pages, copy on write.
func (platform) MapPrivate(f *os.File, length int, write bool) (data []byte, err error) {
	length = wholePages(length)
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	err = sys.Borrow(f, func(fd int) error {
		p, err := unix.MmapPtr(fd, 0, nil, uintptr(length), prot, unix.MAP_PRIVATE)
		if err == nil {
			data = unsafe.Slice((*byte)(p), length)
		}
		return err
	})
	return data, err
}

func wholePages(n int) int {
	page := os.Getpagesize()
	return (n + page - 1) &^ (page - 1)
}

// Reserve replaces the range by one that cannot be accessed, and returns it.
func (platform) Reserve(data, _ []byte) (held []byte) {
	p, n := unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data))
	if _, err := unix.MmapPtr(-1, 0, p, n, unix.PROT_NONE, unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		// This makes the range inaccessible as well, but the file stays referenced until Unmap.
		unix.Mprotect(data, unix.PROT_NONE)
	}
	unix.Munlock(data) // otherwise mlockall(MCL_FUTURE) counts it
	return data
}

// MapReserved is needed only by systems that refuse to truncate a mapped file.
func (platform) MapReserved(*os.File, []byte, int, bool) (view, rest []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}

func (platform) RefusesMapped(error) bool { return false }

func (platform) Unmap(data, _ []byte) {
	unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data)))
}

// Flush writes changed pages back, if fsync does not do that by itself. On Linux it
// does (fsync(2): all modified in-core data). Elsewhere POSIX leaves that to msync. After
// it comes os.File.Sync, which on Darwin is F_FULLFSYNC (internal/poll/fd_fsync_darwin.go):
// fsync(2) there leaves data in the drive's cache.
func (platform) Flush(data []byte) error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return unix.Msync(data, unix.MS_SYNC)
}

// Refresh makes the mapping show what system calls have written.
func (platform) Refresh(data []byte) { unix.Msync(data, unix.MS_INVALIDATE) }

// Sync calls msync(2), which on Linux flushes a range as fsync does the file. POSIX does not say
// that.
func (platform) Sync(data []byte) error {
	if runtime.GOOS != "linux" {
		return errors.ErrUnsupported
	}
	return uninterrupted(func() error { return unix.Msync(data, unix.MS_SYNC) })
}

// Advise calls madvise(2). Advice that the system does not know is EINVAL.
func (platform) Advise(data []byte, advice int) error {
	if advice >= len(sys.Advices) {
		return errors.ErrUnsupported
	}
	err := uninterrupted(func() error { return unix.Madvise(data, sys.Advices[advice]) })
	switch err {
	case unix.EINVAL:
		return errors.ErrUnsupported
	case unix.EFAULT:
		return sys.ErrFault
	}
	return err
}

// Prefault takes one call. Any further cost is the file system's.
func (p platform) Prefault(f *os.File, data []byte, off int64) error {
	err := sys.Borrow(f, func(fd int) error { return sys.CheckBlocks(fd, off, int64(len(data))) })
	if err != nil {
		return err
	}
	return p.Advise(data, sys.PopulateWrite)
}

func (platform) Lock(data []byte) error   { return unix.Mlock(data) }
func (platform) Unlock(data []byte) error { return unix.Munlock(data) }

func (platform) Resident(data []byte) (int64, error) { return sys.ResidentPages(data) }

// uninterrupted calls fn until it is not interrupted by a signal.
func uninterrupted(fn func() error) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = fn()
	}
	return err
}
