package mmapfile

import (
	"os"
	"unsafe"

	"go.dw1.io/mmapfile/internal/rangelock"
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
		return f.flusher.write(f.file, len(b), func() (int, error) { return f.writeAt(b, off) })
	}
	if off < 0 || len(b) == 0 {
		return f.writeInner(b, off)
	}
	if locks := f.writes.Begin(); locks != nil {
		return f.writeLocks(locks, b, off)
	}
	f.writeBack(off, len(b)) // as writeInner
	was, began := f.length.Before(), f.writeBegins(len(b))
	n, err = f.inner.WriteAt(b, off)
	f.writes.End()
	if err == nil && !f.copied() && f.early(was.Known, off, n) {
		f.length.Reached(was, off+int64(n))
		return n, nil
	}
	return n, f.writeAtDone(was, began, b, off, n, err)
}

// writeAt is WriteAt without a flusher.
func (f *file) writeAt(b []byte, off int64) (n int, err error) {
	if off < 0 || len(b) == 0 {
		return f.writeInner(b, off)
	}
	if locks := f.writes.Begin(); locks != nil {
		return f.writeLocks(locks, b, off)
	}
	f.writeBack(off, len(b)) // as writeInner, but uncounted right after the call
	was, began := f.length.Before(), f.writeBegins(len(b))
	n, err = f.inner.WriteAt(b, off)
	f.writes.End()
	return n, f.writeAtDone(was, began, b, off, n, err)
}

// writeLocks writes b through the mapping if its pages are prefaulted, and through the inner
// file otherwise.
func (f *file) writeLocks(locks *rangelock.Locks, b []byte, off int64) (n int, err error) {
	// No defer: nothing panics.
	l, only := locks.Of(off, len(b))
	if only {
		l.Lock()
		n, err = f.writeLocked(l, b, off)
		l.Unlock()
		return n, err
	}
	held := locks.Lock(off, len(b))
	n, err = f.writeLocked(l, b, off)
	locks.Unlock(held)
	return n, err
}

// writeLocked is writeAt with the range locked. l is the lock of its first block.
func (f *file) writeLocked(l *rangelock.Lock, b []byte, off int64) (n int, err error) {
	if f.tryWrite(l, b, off) {
		return len(b), nil
	}
	return f.writeInner(b, off)
}

// lockWrites waits until no write holds a lock, and takes mu. The result is passed to
// unlockWrites.
func (f *file) lockWrites() *rangelock.Locks {
	for {
		l := f.writes.Locks()
		l.LockAll()
		f.mu.Lock()
		if f.writes.Locks() == l {
			return l
		}
		f.unlockWrites(l) // they were made meanwhile
	}
}

func (f *file) unlockWrites(l *rangelock.Locks) {
	f.mu.Unlock()
	l.UnlockAll()
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
		return f.flusher.write(f.file, len(b), func() (int, error) { return f.write(b) })
	}
	if len(b) > 0 && f.lockCursor() {
		return f.writeCursor(b)
	}
	counted := f.writeEnters()
	n, err = f.inner.Write(b)
	return n, f.writeDone(counted, n, err)
}

// write is Write without a flusher.
func (f *file) write(b []byte) (n int, err error) {
	if len(b) > 0 && f.lockCursor() {
		return f.writeCursor(b)
	}
	counted := f.writeEnters()
	n, err = f.inner.Write(b)
	return n, f.writeDone(counted, n, err)
}

// writeCursor is Write with the cursor locked and held by the File. It unlocks the cursor.
func (f *file) writeCursor(b []byte) (n int, err error) {
	n, err = f.writeAt(b, f.cur.Pos())
	if err != nil {
		n, err = f.writeAgain(b)
	}
	f.cur.SetPos(f.cur.Pos() + int64(n))
	f.cur.Unlock()
	return n, err
}

// WriteString writes the bytes of s as [File.Write] does, with its results and errors.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
