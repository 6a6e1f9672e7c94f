package file

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile/internal/guard"
)

// View is the method of mmapfile.File.
func (f *File) View(off, n int64, fn func(p []byte) error) error {
	if off < 0 || n < 0 {
		return f.fail("view", fs.ErrInvalid)
	}
	if n > math.MaxInt64-off {
		return io.EOF
	}
	if f.flusher() != nil {
		return f.viewFlushed(off, n, fn)
	}
	return f.view(off, n, fn)
}

func (f *File) view(off, n int64, fn func(p []byte) error) error {
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
		defer m.region.Unpin() // see mapForMemory
	}
	if m.writable {
		m.stored.add(m, off, n)
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
func (f *File) call(m *mapping, off, n int64, fn func(p []byte) error, prove bool) (called bool, err error) {
	c := viewCall{m: m, off: off, n: n, old: debug.SetPanicOnFault(true)}
	defer f.endCall(&c, &err)
	p := m.data[off : off+n : off+n]
	if prove && !f.has(m, int(off+n-1)) {
		return false, nil
	}
	c.called, called = true, true
	err = fn(p)
	c.returned = true
	return called, err
}

// endCall turns a fault of fn in the bytes into an error, and drops a fault before fn.
// Every other panic continues.
func (f *File) endCall(c *viewCall, err *error) {
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
