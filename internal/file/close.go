package file

import (
	"errors"
	"io"
	"math"
	"os"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// Close is the method of mmapfile.File.
func (f *File) Close() error {
	if f.flusher() != nil {
		return f.closeFlushed()
	}
	if canMap && f.m.Load() == nil && f.mu.CloseUnused() { // most files are not mapped
		f.pages.Closed(f.whyEarly(), 0)
		return f.closeDone(sys.Close(f.inner), nil)
	}
	werr := f.endMapped()
	return f.closeDone(sys.Close(f.inner), werr)
}

// endMapped ends the use of mappings once no write is in flight. The error is that of writing
// back what was stored into memory.
func (f *File) endMapped() (err error) {
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
func (f *File) closeDone(err, earlier error) error {
	f.cur.Retire() // now, so that no call goes on at an offset that the kernel does not have
	if err == nil && earlier != nil {
		err = f.fail("close", cause(earlier))
	}
	return err
}

// end ends the use of mappings. Called with mu held.
func (f *File) end() {
	f.mu.Close()
	why := f.whyEarly()
	f.pages.Closed(why, f.unpublish())
}

// innerClosed reports whether a caller of OS has closed the inner file, and then ends f. It makes no
// system call.
func (f *File) innerClosed() bool { return f.osReturned.Load() && f.endIfInnerClosed() }

func (f *File) endIfInnerClosed() bool {
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
func (f *File) check(err error) error {
	if err != nil && err != io.EOF {
		f.innerClosed()
	}
	return err
}
