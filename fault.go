package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
)

// faultCause returns the reason that p faulted.
func (f *file) faultCause(m *mapping, p []byte, off int64) error {
	f.mu.RLock()
	closed := f.closed.Load()
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
func (f *file) causeOf(r any, m *mapping, p []byte, off int64) error {
	if i, ok := guard.In(r, p); ok {
		p, off = p[i:i+1], off+int64(i)
	}
	err := f.faultCause(m, p, off)
	if err != syscall.EIO || len(p) > 1 {
		return err
	}
	page := []byte(nil)
	if m.writable && !m.copyOnWrite {
		if full := sys.AllocateHoles(f.inner, off, off+1); full != nil && !errors.Is(full, errors.ErrUnsupported) {
			return full
		}
		start := unsafe.Pointer(uintptr(unsafe.Pointer(&p[0])) &^ uintptr(pageSize-1))
		page = unsafe.Slice((*byte)(start), 1)
	}
	// Perhaps the file was truncated and is longer again. It may be truncated at each of these
	// looks, too. The kernel says so, and it gives up at once on a device that fails.
	for range causeLooks {
		if guard.Readable(p) && guard.Writable(page) {
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
	return err
}

// causeLooks is how often causeOf looks whether a page is there again. A file that two processes
// truncate and extend all the time was missed by one look in 1 to 40% of the faults.
const causeLooks = 16

// faultAt returns the mapping of f that contains the fault r, and the offset in it. It
// returns nil if r is not a fault in one.
func (f *file) faultAt(r any) (m *mapping, off int) {
	f.mu.RLock()
	m = f.m.Load()
	if f.closed.Load() {
		m = f.revoked
	}
	f.mu.RUnlock()
	for ; m != nil; m = m.prev {
		if off, ok := guard.In(r, m.region.data); ok {
			return m, off
		}
	}
	return nil, 0
}
