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

// View calls fn with the n bytes of the file at off, in place. p is the file's own memory,
// as [File.Bytes] describes it, and is valid until fn returns. fn may call methods of f.
// View does not allocate.
//
// A fault in p, on the goroutine that runs fn, ends fn, and View returns a *[fs.PathError]
// with Op "view". It wraps [os.ErrClosed], or [io.ErrUnexpectedEOF] if the file was
// truncated. For a store into a file not open for writing it wraps [fs.ErrPermission].
// Otherwise it is the system's: ENOSPC for a full disk on Linux, else EIO. A page that was
// truncated and is there again is io.ErrUnexpectedEOF, unless the disk is full under it. Any
// other panic of fn continues. A fault inside the Go runtime ends the process: copy a value
// of p to a variable before sending it to a channel.
//
// If the range goes past the end of the file, the error is [io.EOF] and fn is not called.
// Other errors are a *fs.PathError: [fs.ErrInvalid] for a negative off or n,
// [errors.ErrUnsupported] if the file cannot be mapped, or the system's error. The error
// of fn is returned as it is. If a platform has no mappings (build tag nommap), p is a copy,
// and View writes the bytes that fn changed.
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
