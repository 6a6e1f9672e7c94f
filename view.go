package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile/internal/guard"
)

// View calls fn with the n bytes of the file at off, in place: p is valid until fn returns. fn
// may call methods of f. A range past the end of the file is [io.EOF], without a call of fn.
//
// A fault in p on the goroutine of fn ends fn and becomes the error. After a truncation that
// is [io.ErrUnexpectedEOF]. For a store into a file not open for writing it is
// [fs.ErrPermission]. Otherwise it is [os.ErrClosed] or the system's, such as ENOSPC. Any
// other panic of fn continues. A fault inside the Go runtime ends the process: copy a value of
// p before sending it to a channel.
//
// The error of fn is returned as it is, all others are *[fs.PathError] with Op "view". A
// negative off or n is [fs.ErrInvalid], and a file that cannot be mapped
// [errors.ErrUnsupported].
func (f *File) View(off, n int64, fn func(p []byte) error) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("view", fs.ErrInvalid)
	}
	if n > math.MaxInt64-off {
		return io.EOF
	}
	if f.flusher == nil {
		return f.view(off, n, fn)
	}
	end := f.flusher.begin()
	defer func() { // also if fn panics
		end(min(n, int64(f.Len()))) // bytes that fn may have changed
		f.flusher.flushDue(f.file)
	}()
	return f.view(off, n, fn)
}

func (f *file) view(off, n int64, fn func(p []byte) error) error {
	f.innerClosed()
	if m := f.m.Load(); f.coversKnown(m, off, n) && f.pages.Known(off, int(min(n, prereadMax))) {
		if called, err := f.call(m, off, n, fn, true); called {
			return err
		}
	}
	m, err := f.bytesAt(off, n, false)
	switch {
	case err == io.EOF:
		return err
	case err != nil:
		return f.fail("view", err)
	case n == 0:
		return fn([]byte{})
	case m == nil && n > maxInt/4:
		return f.fail("view", errors.ErrUnsupported)
	case m == nil:
		return f.viewCopy(off, int(n), fn)
	case closeNeedsLock:
		defer m.region.unpin() // see mapForMemory
	}
	f.preread(m, off, n)
	_, err = f.call(m, off, n, fn, false)
	return err
}

// viewCall is a call of View's function. It has as few words as possible: with more of
// them, the cache misses of one call did not overlap those of the next.
type viewCall struct {
	m      *mapping
	off, n int64
	old    bool // what SetPanicOnFault returned

	called, returned bool // fn
}

// call runs fn on n bytes at off under the guard. If prove is set, it first checks in m
// that the file still has these bytes.
func (f *file) call(m *mapping, off, n int64, fn func(p []byte) error, prove bool) (called bool, err error) {
	c := viewCall{m: m, off: off, n: n, old: debug.SetPanicOnFault(true)}
	defer f.endCall(&c, &err)
	p := m.data[off : off+n : off+n]
	if prove && p[n-1] == 0 && !f.provesZero(m, int(off+n-1)) {
		return false, nil
	}
	c.called, called = true, true
	err = fn(p)
	c.returned = true
	return called, err
}

// endCall turns a fault of fn in the bytes into an error, and drops a fault before fn.
// Every other panic continues.
func (f *file) endCall(c *viewCall, err *error) {
	debug.SetPanicOnFault(c.old)
	if !c.called {
		if recover() != nil {
			guard.Faults.Add(1)
		}
		return
	}
	switch r := recover(); {
	case c.returned:
		// If the file was truncated inside these bytes, stores of fn past the new end may
		// look like content (see provesZero). So get the size now, before the file grows.
		if c.m.writable && !c.m.copyOnWrite && !f.provesPage(c.m, int(c.off+c.n-1)) {
			f.visibleLen()
		}
	case r == nil && guard.Exiting():
	case guard.Caused(r, c.m.data[c.off:c.off+c.n]):
		guard.Faults.Add(1)
		*err = f.fail("view", f.causeOf(r, c.m, c.m.data[c.off:c.off+c.n], c.off))
	default:
		panic(r)
	}
	runtime.KeepAlive(f)
}
