package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"go.dw1.io/mmapfile/internal/flush"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// A private File is its mapping, which is never replaced. Calls use the file, which is open
// for reading only, to find its end. The File holds the cursor, because no call may read at
// the kernel's offset.
//
// Each method that differs checks private once, and hands the whole call to its form below. Code that
// relies on a page's content as a proof checks mapping.copyOnWrite.

// copyOnWrite is the variant of every private File. It flushes nothing. A variant is no interface,
// because the buffers and functions of callers would escape to the heap through its methods.
var copyOnWrite flush.Flusher[File]

func (f *File) private() bool { return f.variant == &copyOnWrite }

// flusher returns what carries out the FlushPolicy of f, or nil.
func (f *File) flusher() *flush.Flusher[File] {
	if f.private() {
		return nil
	}
	return f.variant
}

var errKeepsLength = fmt.Errorf("%w: a private File keeps its length", errors.ErrUnsupported)

// OpenPrivate makes f a private File of name: see Options of package mmapfile.
func OpenPrivate(f *File, name string, flag int, perm fs.FileMode, size int64) error {
	refuse := func(err error) error {
		return &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	switch {
	case flag&(os.O_WRONLY|os.O_TRUNC) != 0:
		return refuse(fmt.Errorf("%w: Private is for O_RDONLY and O_RDWR, without O_TRUNC", fs.ErrInvalid))
	case flag&os.O_APPEND != 0:
		return refuse(errKeepsLength)
	}
	// Opening a pipe for reading would block. A new file is empty, so it is too short for
	// any size.
	fi, err := os.Stat(name)
	if err == nil && !fi.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 && size > 0 {
		return refuse(errors.ErrUnsupported)
	}
	inner, err := os.OpenFile(name, flag&^os.O_RDWR, perm)
	if err != nil {
		return err
	}
	Init(f, inner, flag)
	f.variant = &copyOnWrite
	f.never.Store(true) // its one mapping is complete
	f.cur.StartInFile()
	if err := f.mapPrivate(flag&os.O_RDWR != 0, size); err != nil {
		inner.Close()
		return refuse(err)
	}
	return nil
}

func (f *File) mapPrivate(writable bool, want int64) error {
	size, regular := f.stat()
	switch {
	case !regular || size < want:
		return errors.ErrUnsupported
	case size == 0:
		return nil
	case size > maxInt-int64(pageSize) || !vm.RoomFor(size, true):
		return errNoMemory
	}
	data, err := vm.Memory.MapPrivate(f.inner, int(size), writable)
	if err != nil {
		return err
	}
	// Nothing is usable by calls, so none relies on a page's content to find the end of the file. A
	// copied page keeps its content when the file is truncated in its middle, and shows it
	// when the file is extended again.
	m := &mapping{data: data[:size:size], writable: writable, copyOnWrite: true, region: vm.New(f, data)}
	if f.storageOf()&sys.StorageSparse != 0 {
		m.stored = new(storedPages)
	}
	f.m.Store(m)
	m.region.CountFile()
	return nil
}

// readPrivate is readInner. It reads from the file what the mapping does not have.
func (f *File) readPrivate(b []byte, off int64) (n int, err error) {
	f.innerClosed()
	f.mu.RLock()
	defer f.mu.RUnlock()
	m := f.m.Load()
	switch {
	case off < 0 || len(b) == 0:
		return f.inner.ReadAt(b, off)
	case f.mu.Closed():
		return 0, f.fail("read", os.ErrClosed)
	}
	for {
		size, regular := f.stat()
		if !regular {
			return f.inner.ReadAt(b, off)
		}
		if n = int(min(f.visibleLocked(size)-off, int64(len(b)))); n <= 0 {
			return 0, io.EOF
		}
		if f.readMemory(m, b[:n], off) {
			break
		}
		if now, _ := f.stat(); now >= off+int64(n) {
			return 0, f.fail("read", syscall.EIO)
		} // else the file was truncated: continue to its new end
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// readMemory reads b at off, all of which is in the file: from memory, or by system call where
// reading a hole from memory would allocate it. It reports false if some of it cannot be read.
func (f *File) readMemory(m *mapping, b []byte, off int64) bool {
	if m.stored == nil {
		f.preread(m, off, int64(len(b)))
		return guard.Copy(b, m.data[off:]) || f.readPages(m, b, off)
	}
	for len(b) > 0 {
		stored, to := m.stored.has(off, off+int64(len(b)))
		part := b[:to-off]
		if stored {
			if !guard.Copy(part, m.data[off:]) && !f.readPages(m, part, off) {
				return false
			}
		} else if _, err := f.inner.ReadAt(part, off); err != nil {
			return false
		}
		b, off = b[len(part):], to
	}
	return true
}

// readPages reads b page by page: from the file what memory does not have, because the disk is
// full under a hole. A page that was stored to is in memory.
func (f *File) readPages(m *mapping, b []byte, off int64) bool {
	for len(b) > 0 {
		part := b[:min(int64(len(b)), pageAfter(int(off))-off)]
		if !guard.Copy(part, m.data[off:]) {
			if _, err := f.inner.ReadAt(part, off); err != nil {
				return false
			}
		}
		b, off = b[len(part):], off+int64(len(part))
	}
	return true
}

// writePrivate is WriteAt.
func (f *File) writePrivate(b []byte, off int64) (n int, err error) {
	f.innerClosed()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case off < 0 || len(b) == 0:
		return f.inner.WriteAt(b, off)
	case f.mu.Closed():
		return 0, f.fail("write", os.ErrClosed)
	case f.flag&os.O_RDWR == 0:
		return f.inner.WriteAt(b, off) // returns the error
	}
	m := f.m.Load()
	size, _ := f.stat()
	if off > f.visibleLocked(size)-int64(len(b)) {
		return 0, f.fail("write", errKeepsLength)
	}
	if m.stored == nil {
		f.preread(m, off, int64(len(b)))
	}
	m.stored.add(m, off, int64(len(b)))
	if guard.Copy(m.data[off:off+int64(len(b))], b) {
		return len(b), nil
	}
	if now, _ := f.stat(); now < off+int64(len(b)) {
		return 0, f.fail("write", io.ErrUnexpectedEOF)
	}
	return 0, f.fail("write", f.fullCause(m, m.data[off:off+int64(len(b))], off))
}

// writeNextPrivate is Write.
func (f *File) writeNextPrivate(b []byte) (n int, err error) {
	if len(b) > 0 && f.lockCursor() {
		defer f.cur.Unlock()
		n, err = f.writePrivate(b, f.cur.Pos())
		f.cur.SetPos(f.cur.Pos() + int64(n))
		return n, err
	}
	if f.flag&os.O_RDWR == 0 {
		return f.inner.Write(b) // returns the error
	}
	return 0, f.stillOpen("write")
}

// truncatePrivate is Truncate.
func (f *File) truncatePrivate(size int64) error {
	if err := f.stillOpen("truncate"); err != nil {
		return err
	}
	if f.flag&os.O_RDWR == 0 {
		return f.inner.Truncate(size) // returns the error
	}
	return f.fail("truncate", errKeepsLength)
}

// stillOpen returns the result of a call that has nothing to do.
func (f *File) stillOpen(op string) error {
	f.innerClosed()
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.mu.Closed() {
		return f.fail(op, os.ErrClosed)
	}
	return nil
}
