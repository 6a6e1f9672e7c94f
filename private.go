package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A private File is its mapping: the file is open for reading only, and read
// where it has become longer than the mapping, which is never replaced. The
// cursor stays with us, since nothing may read at the kernel's.

func openPrivate(name string, flag int, perm fs.FileMode, size int64) (*File, error) {
	refuse := func(err error) (*File, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	switch {
	case flag&(os.O_WRONLY|os.O_TRUNC) != 0:
		return refuse(fs.ErrInvalid)
	case flag&os.O_APPEND != 0:
		return refuse(errors.ErrUnsupported)
	}
	inner, err := os.OpenFile(name, flag&^os.O_RDWR, perm)
	if err != nil {
		return nil, err
	}
	f := newFile(inner, flag)
	f.private = true
	f.never.Store(true) // it has all that it will have
	f.cur.state.Store(cursorOurs)
	if err := f.mapPrivate(flag&os.O_RDWR != 0, size); err != nil {
		inner.Close()
		return refuse(err)
	}
	return f, nil
}

func (f *file) mapPrivate(writable bool, want int64) error {
	size, regular := f.stat()
	switch {
	case !regular || size < want:
		return errors.ErrUnsupported
	case size == 0:
		return nil
	case size > maxInt-int64(pageSize) || !roomFor(size, true):
		return errNoMemory
	}
	data, err := mapPrivate(f.inner, int(size), writable)
	if err != nil {
		return err
	}
	m := &mapping{data: data, writable: writable, region: newRegion(f, data)}
	if canMap {
		m.limit = len(data)
	} // else calls take the lock, since this is memory that the race detector sees
	f.m.Store(m)
	return nil
}

// readPrivate is readAt: what the mapping does not have, the file has.
func (f *file) readPrivate(b []byte, off int64) (n int, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	m := f.m.Load()
	switch {
	case off < 0 || len(b) == 0 || m == nil && !f.closed:
		return f.inner.ReadAt(b, off)
	case f.closed:
		return 0, f.fail("read", os.ErrClosed)
	}
	for {
		size, regular := f.stat()
		own := min(size, int64(len(m.data))) - off
		if !regular || own <= 0 {
			return f.inner.ReadAt(b, off)
		}
		n = int(min(own, int64(len(b))))
		if tryCopy(b[:n], m.data[off:]) {
			break
		}
		if now, _ := f.stat(); now >= off+int64(n) {
			return 0, f.fail("read", syscall.EIO)
		} // else it has been cut, and we go to its new end
	}
	if n < len(b) {
		var more int
		more, err = f.inner.ReadAt(b[n:], off+int64(n))
		n += more
	}
	return n, err
}

// writePrivate is writeAt.
func (f *file) writePrivate(b []byte, off int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case off < 0 || len(b) == 0:
		return f.inner.WriteAt(b, off)
	case f.closed:
		return 0, f.fail("write", os.ErrClosed)
	case f.flag&os.O_RDWR == 0:
		return f.inner.WriteAt(b, off) // which says what is wrong
	}
	m := f.m.Load()
	size, _ := f.stat()
	if m == nil || off > min(size, int64(len(m.data)))-int64(len(b)) {
		return 0, f.fail("write", errors.ErrUnsupported)
	}
	if tryCopy(m.data[off:off+int64(len(b))], b) {
		return len(b), nil
	}
	if now, _ := f.stat(); now < off+int64(len(b)) {
		return 0, f.fail("write", io.ErrUnexpectedEOF)
	}
	return 0, f.fail("write", syscall.EIO)
}

// truncatePrivate is Truncate.
func (f *file) truncatePrivate(size int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case f.closed:
		return f.fail("truncate", os.ErrClosed)
	case f.flag&os.O_RDWR == 0:
		return f.inner.Truncate(size) // which says what is wrong
	}
	return f.fail("truncate", errors.ErrUnsupported)
}

// stillOpen is the result of a call that has nothing to do.
func (f *file) stillOpen(op string) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return f.fail(op, os.ErrClosed)
	}
	return nil
}
