package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// faultCause returns the reason that p faulted.
func (f *File) faultCause(m *mapping, p []byte, off int64) error {
	f.mu.RLock()
	closed := f.mu.Closed()
	f.mu.RUnlock()
	if closed {
		return os.ErrClosed
	}
	switch size, regular := f.stat(); {
	case regular && size < off+int64(len(p)):
		return io.ErrUnexpectedEOF
	case !m.writable && guard.Readable(p): // or it was truncated and is longer again: nothing tells
		return fs.ErrPermission
	}
	return syscall.EIO
}

// causeOf returns the reason of r, a fault of a caller's access to p.
func (f *File) causeOf(r any, m *mapping, p []byte, off int64) error {
	if i, ok := guard.In(r, p); ok {
		p, off = p[i:i+1], off+int64(i)
	}
	err := f.faultCause(m, p, off)
	if err != syscall.EIO || len(p) > 1 {
		return err
	}
	page := []byte(nil)
	if m.writable && !m.copyOnWrite {
		start := unsafe.Pointer(uintptr(unsafe.Pointer(&p[0])) &^ uintptr(pageSize-1))
		page = unsafe.Slice((*byte)(start), pageSize)
	}
	// Perhaps the file was truncated and is longer again. It may be truncated at each of these
	// looks, too. The kernel says so, and it gives up at once on a device that fails. Nothing is
	// allocated before: on a full xfs that may succeed where a store does not.
	for range causeLooks {
		if guard.Readable(p) && storable(page) {
			return io.ErrUnexpectedEOF
		}
		switch _, rerr := f.inner.ReadAt(make([]byte, 1), off); {
		case rerr == io.EOF:
			return io.ErrUnexpectedEOF
		case errors.Is(rerr, os.ErrClosed):
			return os.ErrClosed
		case rerr != nil:
			return err
		}
	}
	return f.fullCause(m, p, off)
}

// storable reports whether the pages of p can be stored to. It stores nothing.
func storable(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	switch err := vm.Memory.Advise(p, sys.PopulateWrite); err {
	case nil:
		return true
	case sys.ErrFault:
		return false
	}
	return guard.Writable(p) // the system has no such advice
}

// fullCause returns why p still faults, which is in the file and can be read by system call:
// the disk is full under a hole. A store may need more blocks than an allocation, because a
// large folio is stored to as a whole. So the disk counts as full if only stores fault. A tmpfs
// needs memory for a hole that is read, too, and cannot fail in another way. Where the disk has
// room, the file was truncated at each look.
func (f *File) fullCause(m *mapping, p []byte, off int64) error {
	if m.writable && !m.copyOnWrite {
		err := sys.AllocateHoles(f.inner, off, off+int64(len(p)))
		switch {
		case err == nil && !sys.MayBeFull(f.inner):
			return io.ErrUnexpectedEOF
		case err == nil && guard.Readable(p):
			return sys.ErrFull
		case err != nil && !errors.Is(err, errors.ErrUnsupported):
			return err
		}
	}
	if f.storageOf()&sys.StorageSparse != 0 {
		if !sys.MayBeFull(f.inner) {
			return io.ErrUnexpectedEOF
		}
		return sys.ErrFull
	}
	return syscall.EIO
}

// causeLooks is how often causeOf looks whether a page is there again. A file that two processes
// truncate and extend all the time was missed by one look in 1 to 40% of the faults.
const causeLooks = 16

// faultAt returns the mapping of f that contains the fault r, and the offset in it. It
// returns nil if r is not a fault in one.
func (f *File) faultAt(r any) (m *mapping, off int) {
	f.mu.RLock()
	m = f.m.Load()
	if f.mu.Closed() {
		m = f.closedMapping()
	}
	f.mu.RUnlock()
	for ; m != nil; m = m.prev {
		if off, ok := guard.In(r, m.region.Data); ok {
			return m, off
		}
	}
	return nil, 0
}
