package file

import (
	"runtime/debug"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
)

// WriteAt is the method of mmapfile.File.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	if f.variant != nil {
		return f.writeVariant(b, off)
	}
	if off < 0 || len(b) == 0 {
		return f.writeInner(b, off)
	}
	var l *rangeLock
	if locks := f.writes.Begin(); locks != nil {
		if l, n, err = f.writeLocks(locks, b, off); l == nil {
			return n, err
		}
	}
	f.writeBack(off, len(b)) // as writeInner
	was := f.length.Before()
	if onWrite != nil {
		onWrite(f)
	}
	n, err = f.inner.WriteAt(b, off)
	if l != nil {
		l.Unlock()
	} else {
		f.writes.End()
	}
	return n, f.writeAtDone(was, b, off, n, err)
}

// writeLocks writes b through the mapping if its pages are prefaulted. locks is what Begin of f.writes has returned. Most
// mapped writes are made here, because one more call costs as much as the copy. What the lock does not guard is looked
// up before it is taken. If b lies in one block, and is to be written neither through the mapping nor with a timer, nothing is
// written, and held is the lock of b, with which the caller writes b through the inner file.
func (f *File) writeLocks(locks *rangeLocks, b []byte, off int64) (held *rangeLock, n int, err error) {
	m := f.m.Load()
	var next int64                  // the page after b, which proves it
	var prefaulted, known, due bool // that b may be mapped, that next is in memory, and that b may be prefaulted
	if m != nil && f.covers(m, off, len(b)) {
		next = pageAfter(int(off) + len(b) - 1)
		prefaulted, known, due = f.pages.PrefaultedBefore(next, off, len(b))
	}
	l, only := locks.Of(off, len(b))
	if !only {
		all := locks.Lock(off, len(b))
		if n, err = f.tryWrite(l, b, off, prefaulted, known, due); n < len(b) && err == nil {
			n, err = f.writeInner(b, off)
		}
		locks.Unlock(all)
		return nil, n, err
	}
	l.Lock()
	if closeNeedsLock || !prefaulted || !known || !f.mayWrite(m, off, len(b)) || f.isLast(m, next) || !f.needCold().mtime.Active() || l.State.Count(len(b)) {
		if n, err = f.tryWrite(l, b, off, prefaulted, known, due); n < len(b) && err == nil {
			if !noUnifiedCache && !f.timesWrite(b, off) {
				return l, 0, nil
			}
			n, err = f.writeInner(b, off)
		}
		l.Unlock()
		return nil, n, err
	}
	n = -1 // until b is in the file
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if n < 0 && recover() != nil {
			guard.Faults.Add(1)
			n, err = f.writeInner(b, off) // with the lock, so that Close waits
		}
		l.Unlock()
	}()
	copy(m.data[off:off+int64(len(b))], b)
	m.touch(next) // as in store
	n = len(b)
	f.needCold().mtime.Wrote(f.modified())
	return nil, n, nil
}

// writeBegun is WriteAt after Begin of f.writes, which has returned locks.
func (f *File) writeBegun(locks *rangeLocks, b []byte, off int64) (n int, err error) {
	if locks == nil {
		n, err = f.writeInner(b, off)
		f.writes.End()
		return n, err
	}
	l, n, err := f.writeLocks(locks, b, off)
	if l != nil {
		n, err = f.writeInner(b, off)
		l.Unlock()
	}
	return n, err
}

// lockWrites waits until no write holds a lock, and takes mu. The result is passed to
// unlockWrites.
func (f *File) lockWrites() *rangeLocks {
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

func (f *File) unlockWrites(l *rangeLocks) {
	f.mu.Unlock()
	l.UnlockAll()
}

// Write is the method of mmapfile.File.
func (f *File) Write(b []byte) (n int, err error) {
	v := f.variant
	if v != nil {
		if f.private() {
			return f.writeNextPrivate(b)
		}
		v.Enter()
	}
	if len(b) > 0 && (f.cur.LockHeld() || f.lockCursor()) {
		n, err = f.writeCursor(b)
	} else {
		counted := f.writeEnters()
		n, err = f.inner.Write(b)
		err = f.writeDone(counted, n, err)
	}
	if v != nil {
		v.Leave(f, len(b), n, err)
	}
	return n, err
}

// writeCursor is Write with the cursor locked and held by the File. It unlocks the cursor.
func (f *File) writeCursor(b []byte) (n int, err error) {
	if f.lateErrors() {
		n, err = f.writeSeeked(b)
	} else if n, err = f.writeBegun(f.writes.Begin(), b, f.cur.Pos()); err != nil {
		n, err = f.writeAgain(b, err)
	}
	f.cur.SetPos(f.cur.Pos() + int64(n))
	f.cur.Unlock()
	return n, err
}

// WriteString is the method of mmapfile.File.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
