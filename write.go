package mmapfile

import (
	"io"
	"os"
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

// writeAt writes b through the mapping if its pages are prefaulted, or through the
// inner file.
func (f *file) writeAt(b []byte, off int64) (n int, err error) {
	m := f.m.Load()
	if m == nil || m.locks == nil || off < 0 || len(b) == 0 {
		return f.writeInner(b, off, false)
	}
	held := m.locks.lock(off, len(b)) // no defer: nothing panics
	if f.ownDescriptor() && f.covers(m, off, len(b)) && f.mapsWrite(m, off, len(b)) {
		begins := f.dirty.Load() == clean && !f.begun(b, off)
		if !begins && f.mappedWrite(m, b, int(off)) {
			n = len(b)
		} else {
			n, err = f.writeInner(b, off, begins)
		}
	} else {
		n, err = f.writeInner(b, off, false)
	}
	m.locks.unlock(held)
	return n, err
}

// ownDescriptor reports whether no one else has the descriptor. Who has it may change what
// a write does (F_SETFL with O_APPEND), so there all writes are system calls.
func (f *file) ownDescriptor() bool { return f.cur.state.Load()&cursorKernel == 0 }

// writeInner writes b through the inner file. begins says that a period of mapped
// writes begins with it.
func (f *file) writeInner(b []byte, off int64, begins bool) (n int, err error) {
	if f.private {
		return f.writePrivate(b, off)
	}
	known, cuts := f.size.Load(), f.truncs.Load()
	f.settle(off, len(b))
	n, err = f.inner.WriteAt(b, off)
	if n == 0 {
		return n, err
	}
	f.absorb(b[:n], off)
	f.noteWrite(off, int64(n))
	if end := off + int64(n); end > known {
		f.raise(end, cuts)
	}
	if begins {
		f.begin()
	}
	return n, err
}

// begun begins a period of mapped writes with a page of b, where b is long. Otherwise it
// reports false: all of b has to go through the kernel.
func (f *file) begun(b []byte, off int64) bool {
	if len(b) <= beginWhole {
		return false
	}
	if _, err := f.inner.WriteAt(b[:1<<pageBits], off); err != nil {
		return false
	}
	return f.begin()
}

const beginWhole = 64 << 10

// begin begins a period of mapped writes, after a write through the kernel: that did all
// that the kernel does at a write and a store does not. It moved the modification time,
// notified watchers, took the set-user-ID bit away, and asked whether the file may be
// written to at all. A limit of the process it may not have met.
func (f *file) begin() bool {
	if fileSizeLimit() < f.size.Load() {
		return false
	}
	if f.dirty.CompareAndSwap(clean, written) {
		f.timePeriod()
	}
	return true
}

// periodLasts bounds the time for which mapped writes go on without the kernel. It is half
// of the 100 ms that are promised: timers are late.
const periodLasts = 50 * time.Millisecond

// timePeriod ends the period in time. One timer is enough: a period that it ends early
// begins again.
func (f *file) timePeriod() {
	if f.armed.CompareAndSwap(false, true) {
		time.AfterFunc(periodLasts, func() {
			f.armed.Store(false) // first: a period that begins now has a timer of its own
			f.endPeriod()
		})
	}
}

// mappedWrite reports whether b is in the file. It fails if the file was truncated
// concurrently: past its new end b would be lost, and show up again as if it were
// the file's. Called with the range locked.
func (f *file) mappedWrite(m *mapping, b []byte, off int) bool {
	l, ok := &m.locks[lockOf(int64(off)>>blockBits)], false
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

// markStored comes after the store: a period that ended before it moved the time too early.
func (f *file) markStored() {
	if f.dirty.Load() == stored { // most often: no line of the cache to take from others
		return
	}
	if f.dirty.Swap(stored) == clean {
		f.timePeriod() // the period ended during the store
	}
}

// The states of a period of mapped writes.
const (
	clean   = iota // there is none: the next write goes through the kernel
	written        // it has begun
	stored         // and there were mapped writes, of which the kernel knows nothing
)

// endPeriod ends the period of mapped writes. If there were any it marks the file as
// modified now.
func (f *file) endPeriod() {
	if f.dirty.Load() != clean && f.dirty.Swap(clean) == stored {
		markModified(f.inner)
	}
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
	f.unsure()
	f.absorb(nil, 0)
}

// WriteString is [File.Write] with the bytes of s, in all that is said there.
func (f *File) WriteString(s string) (n int, err error) {
	return f.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
}
