package mmapfile

import (
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"
)

// WriteAt writes b at the byte offset off. It may be called concurrently with
// everything, Close included, and returns what [os.File.WriteAt] returns: a
// *[io/fs.PathError] where n < len(b), and os's own plain error on a file opened
// with [os.O_APPEND]. A write beyond the end makes the file longer. It does not
// allocate.
//
// What was written is in the file at once: other processes see it, and a killed
// process loses nothing. A crash of the system can lose what was not followed
// by [File.Sync]; on a file opened with os.O_SYNC nothing that WriteAt returned for.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.flusher != nil {
		return f.flusher.write(f.file, func() (int, error) { return f.writeAt(b, off) })
	}
	return f.writeAt(b, off)
}

// writeAt stores b where that is possible and pays, or writes it through the
// inner file.
func (f *file) writeAt(b []byte, off int64) (n int, err error) {
	first := false
	var timed *storePolicy
	if m := f.m.Load(); m != nil && m.store != nil && off >= 0 && len(b) > 0 {
		if f.storeReady(m, b, off) {
			return len(b), nil
		}
		turn := m.turns.take(off, len(b))
		defer m.turns.give(turn)
		if f.covers(m, off, len(b)) {
			done := false
			if done, first, timed = f.tryStore(m, b, int(off), turn); done {
				return len(b), nil
			}
		}
	}
	if f.private {
		return f.writePrivate(b, off)
	}
	known, cuts := f.size.Load(), f.truncs.Load()
	f.settle(off, len(b))
	var began time.Time
	if timed != nil {
		began = time.Now()
	}
	n, err = f.inner.WriteAt(b, off)
	if timed != nil {
		timed.tookCall(time.Since(began), len(b))
	}
	if n == 0 {
		return n, err
	}
	f.absorb(b[:n], off)
	if end := off + int64(n); end > known {
		f.raise(end, cuts)
		f.warmEnd()
	} else {
		f.warmAt(n, off)
	}
	if first {
		f.firstWritten()
	}
	return n, err
}

// tryStore stores b, inside the file, if that pays. Otherwise first says that the
// write through the inner file is one after which there may be stores, and timed is
// who wants to know how long it takes.
func (f *file) tryStore(m *mapping, b []byte, off int, turn uint16) (done, first bool, timed *storePolicy) {
	if !m.store.ready(off, len(b)) {
		hot, sample := f.hot(m, off, len(b), m.turns.slot(turn))
		if sample {
			timed = m.store
		}
		if !hot && !split {
			return false, false, timed
		}
	}
	// The first goes to the kernel, for what that does at a write and we
	// cannot: tell who watches the file, and take its capabilities away.
	// Of a long one the first page will do, if nobody has the descriptor.
	if f.dirty.Load() == clean {
		if len(b) <= smallCall || f.cur.state.Load()&cursorKernel != 0 {
			return false, true, timed
		}
		if _, err := f.inner.WriteAt(b[:policyPageSize], int64(off)); err != nil {
			return false, true, timed
		}
		f.firstWritten()
	}
	return f.stored(m, b, off, turn), false, timed
}

// firstWritten notes that a system call has moved the file's time, to what it
// is now.
func (f *file) firstWritten() {
	if !f.dirty.CompareAndSwap(clean, written) {
		return
	}
	if fi, err := f.inner.Stat(); err == nil {
		f.before.Store(fi.ModTime().UnixNano())
	}
	if f.cur.state.Load()&cursorKernel != 0 {
		f.checkMode()
	}
}

// checkMode ends stores where somebody to whom the descriptor was handed has
// made it one that they cannot stand for (F_SETFL with O_APPEND).
func (f *file) checkMode() {
	if mode, err := descriptorMode(f.inner, f.flag); err != nil || mode.plain || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if m := f.m.Load(); m != nil {
		next := *m
		next.store, next.turns = nil, nil
		f.m.Store(&next)
	}
}

// stored stores b and reports whether it is in the file: behind an end that
// somebody has moved here it would be lost, and show up again as if it were
// the file's.
func (f *file) stored(m *mapping, b []byte, off int, turn uint16) bool {
	ok := false
	timed := m.turns.slot(turn).store(m.store, len(b))
	var began time.Time
	if timed {
		began = time.Now()
	}
	if f.isLast(m, m.pageBehind(off+len(b)-1)) {
		ok = f.storeLast(m, b, off)
	} else {
		ok = f.store(m, b, off)
	}
	if timed && m.store.tookStore(time.Since(began), len(b)) {
		if saved, missed := m.turns.takeSaved(turn); m.store.slowed(saved, missed) && canMakeReady {
			go f.letGo(m) // others wait for this turn
		}
	}
	if !ok {
		return false
	}
	f.markStored()
	return true
}

// markStored comes after the store: a Stat before it would move the time too early.
func (f *file) markStored() {
	if f.dirty.Load() != stored { // most often it is: no line of the cache to take from others
		f.dirty.Store(stored)
	}
}

// letGo keeps the range from being given back meanwhile.
func (f *file) letGo(m *mapping) {
	m.store.letGo(m.data)
	runtime.KeepAlive(f)
}

// The states of a file's modification time.
const (
	clean   = iota
	written // by a system call, so that it has moved; stores may follow
	stored  // through the mapping, which has not moved it
)

// moveTime sets the file's modification time if bytes were stored through the
// mapping since it was last set: the kernel does so by itself only for the
// first store to a page that was clean. A time that somebody has set since the
// first of those stores, back or ahead, stands, as programs that unpack
// archives expect. (Whether more stores came after that nobody can tell without
// a clock in each; the next Stat or Sync that follows a store moves the time.)
func (f *file) moveTime() {
	if f.dirty.Load() == clean || f.dirty.Swap(clean) != stored {
		return
	}
	fi, err := f.inner.Stat()
	if err != nil || fi.ModTime().UnixNano() < f.before.Load() || fi.ModTime().After(time.Now()) {
		return
	}
	touch(f.inner)
}

// Write writes b at the cursor, or at the end of a file opened with
// [os.O_APPEND], and moves the cursor. It may be called concurrently with
// everything, Close included; each call is atomic with respect to the cursor.
// It returns what [os.File.Write] returns: an error where n < len(b). It does not
// allocate. For what a crash can lose see [File.WriteAt].
func (f *File) Write(b []byte) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.flusher != nil {
		return f.flusher.write(f.file, func() (int, error) { return f.write(b) })
	}
	return f.write(b)
}

func (f *file) write(b []byte) (n int, err error) {
	if len(b) > 0 && f.lockCursor() {
		n, err = f.writeAt(b, f.cur.pos)
		if err != nil && !f.private {
			n, err = f.writeAgain(b)
		}
		f.cur.pos += int64(n)
		f.cur.mu.Unlock()
		return n, err
	}
	if f.private && f.flag&os.O_RDWR != 0 {
		return 0, f.stillOpen("write")
	}
	f.settle(0, -1)
	counted := f.cur.enter(f.inner)
	n, err = f.inner.Write(b)
	f.cur.leave(counted)
	if n > 0 {
		f.movedEnd()
		if f.flag < 0 || f.flag&os.O_APPEND == 0 { // unknown, or not to append
			f.warmWrite(n)
		}
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
	f.unsure()
	f.absorb(nil, 0)
}

// WriteString is [File.Write] with the bytes of s, in all that is said there.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
