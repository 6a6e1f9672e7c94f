package mmapfile

import (
	"io"
	"os"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/pages"
)

// WriteAt writes b at the byte offset off, and returns what [os.File.WriteAt] returns. If n
// < len(b), the error is a *[io/fs.PathError]. On a file opened with [os.O_APPEND] it is
// the error of [os.File.WriteAt], which is not a *fs.PathError. A write past the end makes
// the file longer. WriteAt allocates at most a timer every 50 ms, and the record of pages.
//
// Other processes see the bytes at once, and a killed process loses none. A crash of the
// system can lose writes that no [File.Sync] followed. With [os.O_SYNC] it loses no write
// that has returned.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.private {
		return f.writePrivate(b, off)
	}
	if f.flusher != nil {
		return f.flusher.write(f.file, func() (int, error) { return f.writeAt(b, off) })
	}
	return f.writeAt(b, off)
}

// writeAt writes b through the mapping if its pages are prefaulted, and through the inner
// file otherwise.
func (f *file) writeAt(b []byte, off int64) (n int, err error) {
	m := f.m.Load()
	if m == nil || m.locks == nil || off < 0 || len(b) == 0 {
		return f.writeInner(b, off)
	}
	// No defer: nothing panics.
	block := off >> pages.BlockBits
	l := &m.locks[lockOf(block)]
	if (off+int64(len(b))-1)>>pages.BlockBits == block {
		l.Lock()
		n, err = f.writeLocked(m, l, b, off)
		l.Unlock()
		return n, err
	}
	held := m.locks.lock(off, len(b))
	n, err = f.writeLocked(m, l, b, off)
	m.locks.unlock(held)
	return n, err
}

// writeInner writes b through the inner file.
func (f *file) writeInner(b []byte, off int64) (n int, err error) {
	a := f.askSize()
	f.settle(off, len(b))
	var began time.Time
	timed := f.pages.Times(len(b))
	if timed {
		began = time.Now()
	}
	n, err = f.inner.WriteAt(b, off)
	if timed && err == nil {
		f.pages.SetSaving(time.Since(began))
	}
	if f.check(err); n == 0 {
		return n, err
	}
	f.reload(b[:n], off)
	f.noteWrite(off, int64(n))
	if end := off + int64(n); end > a.known {
		f.raise(a, end)
	}
	return n, err
}

// Write writes b at the cursor and moves the cursor. On a file opened with [os.O_APPEND] it
// writes at the end. It returns what [os.File.Write] returns: an error if n < len(b).
// [File.WriteAt] says what it allocates and what a crash can lose.
func (f *File) Write(b []byte) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.private {
		return f.writeNextPrivate(b)
	}
	if f.flusher != nil {
		return f.flusher.write(f.file, func() (int, error) { return f.write(b) })
	}
	return f.write(b)
}

func (f *file) write(b []byte) (n int, err error) {
	if len(b) > 0 && f.lockCursor() {
		n, err = f.writeAt(b, f.cur.pos)
		if err != nil {
			n, err = f.writeAgain(b)
		}
		f.cur.pos += int64(n)
		f.cur.mu.Unlock()
		return n, err
	}
	f.settle(0, -1)
	counted := f.cur.enter(f.inner)
	n, err = f.inner.Write(b)
	off := f.cur.moved(int64(n))
	f.cur.leave(counted)
	if n > 0 {
		f.movedEnd()
	}
	if off >= 0 {
		f.noteWrite(off, int64(n))
	}
	return n, f.check(err)
}

// writeAgain repeats a failed Write by a write at the kernel's offset, which it sets.
// os.File.WriteAt does not report how much it wrote before an error, but Write does.
func (f *file) writeAgain(b []byte) (int, error) {
	if _, err := f.inner.Seek(f.cur.pos, io.SeekStart); err != nil {
		return 0, f.fail("write", cause(err))
	}
	n, err := f.inner.Write(b)
	if n > 0 {
		f.movedEnd()
	}
	return n, err
}

// movedEnd notes that a call wrote bytes at an unknown offset.
func (f *file) movedEnd() {
	f.staleSize()
	f.reload(nil, 0)
}

// WriteString writes the bytes of s as [File.Write] does, with its results and errors.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
