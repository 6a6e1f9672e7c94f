package mmapfile

import (
	"io"
	"os"
	"unsafe"
)

// WriteAt writes b at the byte offset off. It returns what [os.File.WriteAt] returns:
// a *[io/fs.PathError] where n < len(b), and os's own plain error on a file opened
// with [os.O_APPEND]. A write beyond the end makes the file longer. It does not
// allocate, apart from a timer every 50 ms (see the package comment).
//
// What was written is in the file at once: other processes see it, and a killed
// process loses nothing. A crash of the system can lose what was not followed
// by [File.Sync]; on a file opened with os.O_SYNC nothing that WriteAt returned for.
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

// writeAt writes b through the mapping if its pages are prefaulted, or through the
// inner file.
func (f *file) writeAt(b []byte, off int64) (n int, err error) {
	m := f.m.Load()
	if m == nil || m.locks == nil || off < 0 || len(b) == 0 {
		return f.writeInner(b, off)
	}
	// No defer: nothing panics.
	block := off >> blockBits
	l := &m.locks[lockOf(block)]
	if (off+int64(len(b))-1)>>blockBits == block {
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

// writeLocked is writeAt with the range locked. l is the lock of its first block.
func (f *file) writeLocked(m *mapping, l *rangeLock, b []byte, off int64) (n int, err error) {
	switch {
	case !f.ownDescriptor() || !f.covers(m, off, len(b)) || !f.mapsWrite(m, off, len(b)):
		return f.writeInner(b, off)
	case f.dirty.Load() == clean:
		return f.writeFirst(m, l, b, off)
	case f.mappedWrite(m, l, b, int(off)):
		return len(b), nil
	}
	return f.writeInner(b, off)
}

// writeFirst is the write that begins a period of mapped writes. It goes through the kernel;
// of a long one the first page will do.
func (f *file) writeFirst(m *mapping, l *rangeLock, b []byte, off int64) (n int, err error) {
	first := b
	if len(b) > firstWhole {
		first = b[:1<<pageBits]
	}
	n, err = f.writeInner(first, off)
	if err != nil {
		return n, err
	}
	begun, rest, at := f.begin(), b[n:], off+int64(n)
	if len(rest) == 0 {
		return n, nil
	}
	// If the descriptor was handed out since, the first page may have been appended.
	if begun && f.ownDescriptor() && f.mappedWrite(m, l, rest, int(at)) {
		return len(b), nil
	}
	k, err := f.writeInner(rest, at)
	if n += k; err != nil {
		n = 0 // as os.File has it
	}
	return n, err
}

const firstWhole = 64 << 10

// ownDescriptor reports whether no one else has the descriptor. Who has it may change what
// a write does (F_SETFL with O_APPEND), so there all writes are system calls.
func (f *file) ownDescriptor() bool { return f.cur.state.Load()&cursorKernel == 0 }

// writeInner writes b through the inner file.
func (f *file) writeInner(b []byte, off int64) (n int, err error) {
	known, truncs := f.size.Load(), f.truncs.Load()
	f.settle(off, len(b))
	n, err = f.inner.WriteAt(b, off)
	if n == 0 {
		return n, err
	}
	f.absorb(b[:n], off)
	f.noteWrite(off, int64(n))
	if end := off + int64(n); end > known {
		f.raise(end, truncs)
	}
	return n, err
}

// mappedWrite reports whether b is in the file. It fails if the file was truncated
// concurrently: past its new end b would be lost, and show up again as if it were
// the file's. Called with the range locked.
func (f *file) mappedWrite(m *mapping, l *rangeLock, b []byte, off int) (ok bool) {
	if l.writes++; l.writes%timeEvery == 0 {
		ok = f.timedStore(m, b, off, l)
	} else {
		ok = f.store(m, b, off)
	}
	if ok {
		f.markStored()
	}
	return ok
}

// Write writes b at the cursor, or at the end of a file opened with [os.O_APPEND], and
// moves the cursor. Each call is atomic with respect to the cursor. It returns what
// [os.File.Write] returns: an error where n < len(b). It does not allocate. For what a
// crash can lose see [File.WriteAt].
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
	return n, err
}

// writeAgain repeats a Write that failed, at the kernel's offset: os.File.WriteAt
// does not say how much it wrote before an error, and Write does.
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

// movedEnd notes that bytes came into the file at a place that we do not know.
func (f *file) movedEnd() {
	f.staleSize()
	f.absorb(nil, 0)
}

// WriteString is [File.Write] with the bytes of s, in all that is said there.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
