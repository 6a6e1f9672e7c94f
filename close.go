package mmapfile

import (
	"errors"
	"io"
	"math"
	"os"
	"syscall"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// Close closes the file and makes its mappings inaccessible. It waits for a Truncate and, until
// the descriptor was handed out, for writes of a mapped File that are in flight. They end in
// full. It waits for other calls only on Windows, and if the File is private or has a
// [FlushPolicy]. They end in full or with [os.ErrClosed], and a call blocked in a pipe is
// released. A second Close is a *[fs.PathError] with Op "close" and os.ErrClosed, as with
// [os.File.Close].
//
// An access to a slice from [File.Bytes] faults after Close. Close does not sync, unless a
// [FlushPolicy] has something left to flush.
func (f *File) Close() error {
	if f == nil {
		return os.ErrInvalid
	}
	if f.file == nil {
		return syscall.EINVAL // a File that was never opened, as with os.File
	}
	if f.flusher != nil {
		return f.flusher.close(f.file)
	}
	if canMap && f.m.Load() == nil && f.mu.CloseUnused() { // most files are not mapped
		f.countCalls()
		return f.closeDone(sys.Close(f.inner), nil)
	}
	werr := f.endMapped()
	return f.closeDone(sys.Close(f.inner), werr)
}

// endMapped ends the use of mappings once no write is in flight. The error is that of writing
// back what was stored into memory.
func (f *file) endMapped() (err error) {
	l := f.lockWrites()
	defer f.unlockWrites(l)
	if !f.mu.Closed() {
		// The race detector sees this: the caller must not modify the memory any more.
		err = f.writeBack(0, math.MaxInt)
		f.end()
		f.endPeriod()
	}
	return err
}

// closeDone follows the Close of the inner file. earlier is what has failed before it.
func (f *file) closeDone(err, earlier error) error {
	f.cur.Retire() // now, so that no call goes on at an offset that the kernel does not have
	if err == nil && earlier != nil {
		err = f.fail("close", cause(earlier))
	}
	return err
}

// end ends the use of mappings. Called with mu held.
func (f *file) end() {
	f.mu.Close()
	f.countCalls()
	f.unpublish()
}

// countCalls adds the last system calls of f to Stats, which follow has not added.
func (f *file) countCalls() {
	if f.tracks() {
		stats.calls.Add(f.pages.Calls())
	}
}

// innerClosed reports whether a caller of OS has closed the inner file, and then ends f. It makes no
// system call.
func (f *file) innerClosed() bool { return f.osReturned.Load() && f.endIfInnerClosed() }

func (f *file) endIfInnerClosed() bool {
	if f.m.Load() == nil && !f.copied() {
		return false
	}
	// A file that can be mapped has no deadline, so this changes nothing.
	if err := f.inner.SetDeadline(time.Time{}); err == nil || errors.Is(err, os.ErrNoDeadline) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mu.Closed() {
		f.end()
	}
	f.cur.Retire()
	return true
}

// check returns err, the result of a call of the inner file. It ends f if that is closed.
func (f *file) check(err error) error {
	if err != nil && err != io.EOF {
		f.innerClosed()
	}
	return err
}
