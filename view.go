package mmapfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
)

// Bytes returns the whole file as one slice of exactly its present length, capacity
// included. It asks the file for that length and maps it if necessary. nil means that the
// file is empty, closed or cannot be mapped.
//
// The memory is the file's own, shared with other processes. A store writes the file if it
// was opened with [os.O_RDWR], else it faults. Stores are durable after [File.Sync]. The
// memory is not synchronised with concurrent writes.
//
// The slice is valid until [File.Close], while f is reachable ([runtime.KeepAlive]). It
// does not grow with the file: call Bytes again. An access to bytes that this or another
// program has truncated ends the process. [File.View] and [File.Guard] avoid that.
//
// Until Close, Windows lets no other program truncate the file. If a platform has no
// mappings (build tag nommap), the slice is a copy, which Sync, Close and each system call
// on the file write back.
func (f *File) Bytes() []byte {
	if f == nil || f.lost() {
		return nil
	}
	if !f.inPlace() {
		f.exposes()
		return f.bytesCopy()
	}
	size := f.ask()
	if size <= 0 {
		return nil
	}
	m, err := f.exposeMapping(size)
	if err != nil {
		return nil
	}
	size = min(size, int64(len(m.data)))
	return m.data[:size:size]
}

// inPlace reports whether callers get memory of a mapping. A private File has such memory
// on every platform.
func (f *file) inPlace() bool { return canMap || f.private }

// exposeMapping returns a mapping of at least size bytes. Callers may hold its memory until
// the File is closed.
func (f *file) exposeMapping(size int64) (*mapping, error) {
	m, err := f.mapped(size, true)
	if err == nil {
		f.exposes()
	}
	return m, err
}

// exposes tells the flusher that callers may store into the memory, which it cannot count.
func (f *file) exposes() {
	if f.flusher != nil {
		f.flusher.exposed.Store(true)
	}
}

// mapped returns a mapping of at least size bytes. If expose is set, callers hold slices of
// it until the File is closed. Otherwise it is pinned if locked is true. If locked is true,
// a concurrent truncation may make it shorter than size.
func (f *file) mapped(size int64, expose bool) (*mapping, error) {
	if m := f.m.Load(); !locked && m != nil && int64(len(m.data)) >= size {
		return m, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, os.ErrClosed
	}
	if m := f.m.Load(); locked && (m == nil || int64(len(m.data)) < size) {
		if now, regular := f.stat(); regular && now < size {
			if size = now; size == 0 {
				return nil, io.EOF
			}
		}
	}
	if err := f.mapTo(size, true); err != nil {
		return nil, err
	}
	m := f.m.Load()
	switch {
	case expose:
		m.region.exposed.Store(true)
	case locked:
		m.region.pins.Add(1)
	}
	return m, nil
}

// View calls fn with the n bytes of the file at off, in place. p is the file's own memory,
// as [File.Bytes] describes it, and is valid until fn returns. fn may call methods of f.
// View does not allocate.
//
// A fault in p, on the goroutine that runs fn, ends fn, and View returns a *[fs.PathError]
// with Op "view". It wraps [os.ErrClosed], or [io.ErrUnexpectedEOF] if the file was
// truncated. For a store into a file not open for writing it wraps [fs.ErrPermission].
// Otherwise it is the system's: ENOSPC for a full disk on Linux, else EIO. Any other panic
// of fn continues. A fault inside the Go runtime ends the process: copy a value of p to a
// variable before sending it to a channel.
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
	f.lost()
	if m := f.m.Load(); !locked && m != nil && 0 < n && n <= maxInt && f.covers(m, off, int(n)) && f.known(off, int(min(n, prereadMost))) && f.known(off+n-1, 1) {
		if called, err := f.call(m, off, n, fn, true); called {
			return err
		}
	}
	m, err := f.window(off, n, false)
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
	case locked:
		defer m.region.unpin() // see mapped
	}
	f.preread(m, off, n)
	_, err = f.call(m, off, n, fn, false)
	return err
}

// window finds a mapping that shows n bytes at off, all of them in the file. It is nil if n
// is 0, or if the platform has no mappings. expose is as for mapped.
func (f *file) window(off, n int64, expose bool) (*mapping, error) {
	f.lost()
	if m := f.m.Load(); expose && !locked && m != nil && 0 < n && n <= maxInt && f.covers(m, off, int(n)) && f.known(off+n-1, 1) && f.holds(m, int(off+n-1)) {
		return m, nil
	}
	size := f.ask()
	switch {
	case size < 0:
		return nil, f.noSize()
	case off+n > size:
		return nil, io.EOF
	case n == 0 || !f.inPlace():
		return nil, nil
	case size > mapLimit:
		size = off + n // as much as is needed, because address space is short
	}
	if m := f.m.Load(); locked && m != nil && off+n <= int64(len(m.data)) {
		size = off + n // a longer mapping would stay beside m
	}
	m, err := f.mapped(size, expose)
	if locked && err == nil && off+n > int64(len(m.data)) {
		if !expose {
			m.region.unpin()
		}
		return nil, io.EOF
	}
	return m, err
}

// viewCopy is View on platforms without mappings. fn gets a copy. When it ends, in whatever
// way, the bytes that it changed are written to the file, and only those.
func (f *file) viewCopy(off int64, n int, fn func(p []byte) error) (err error) {
	p := make([]byte, n)
	if _, err := f.readAt(p, off); err == io.EOF {
		return err
	} else if err != nil {
		return f.fail("view", cause(err))
	}
	was := bytes.Clone(p)
	defer func() {
		for i, j := range changes(was, p) {
			if werr := f.writeBack(p[i:j], off+int64(i)); werr != nil {
				if err == nil {
					err = f.fail("view", cause(werr))
				}
				return
			}
			f.reload(p[i:j], off+int64(i))
		}
	}()
	return fn(p)
}

// noSize returns the reason that the file has no size that could be mapped.
func (f *file) noSize() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if _, err := f.inner.Stat(); f.closed || errors.Is(err, os.ErrClosed) {
		return os.ErrClosed
	}
	return errors.ErrUnsupported
}

// viewCall is a call of View's function. It has as few words as possible: with more of
// them, the cache misses of one call did not overlap those of the next.
type viewCall struct {
	m      *mapping
	off, n int64
	old    bool // of SetPanicOnFault

	called, returned bool // fn
}

// call runs fn on n bytes at off under the guard. If prove is set, it first checks in m
// that the file still has these bytes.
func (f *file) call(m *mapping, off, n int64, fn func(p []byte) error, prove bool) (called bool, err error) {
	c := viewCall{m: m, off: off, n: n, old: debug.SetPanicOnFault(true)}
	defer f.endCall(&c, &err)
	p := m.data[off : off+n : off+n]
	if prove && p[n-1] == 0 && !f.reaches(m, int(off+n-1)) {
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
		// look like content (see reaches). So get the size now, before the file grows.
		if c.m.writable && !c.m.own && !f.inside(c.m, int(c.off+c.n-1)) {
			f.ask()
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

// faultCause returns the reason that p faulted.
func (f *file) faultCause(m *mapping, p []byte, off int64) error {
	f.mu.RLock()
	closed := f.closed
	f.mu.RUnlock()
	if closed {
		return os.ErrClosed
	}
	switch size, regular := f.stat(); {
	case regular && size < off+int64(len(p)):
		return io.ErrUnexpectedEOF
	case !m.writable && guard.Readable(p):
		return fs.ErrPermission
	}
	return syscall.EIO
}

// causeOf returns the reason of r, a fault of a caller's access to p.
func (f *file) causeOf(r any, m *mapping, p []byte, off int64) error {
	if i, ok := guard.In(r, p); ok {
		p, off = p[i:i+1], off+int64(i)
	}
	err := f.faultCause(m, p, off)
	if err != syscall.EIO || len(p) > 1 {
		return err
	}
	page := []byte(nil)
	if m.writable && !m.own {
		if full := sys.AllocateHoles(f.inner, off, off+1); full != nil && !errors.Is(full, errors.ErrUnsupported) {
			return full
		}
		start := unsafe.Pointer(uintptr(unsafe.Pointer(&p[0])) &^ uintptr(pageSize-1))
		page = unsafe.Slice((*byte)(start), 1)
	}
	// Perhaps the file was truncated and is longer again. It may be truncated at each of these
	// looks, too. The kernel says so, and it gives up at once on a device that fails.
	for range causeLooks {
		if guard.Readable(p) && guard.Writable(page) {
			return io.ErrUnexpectedEOF
		}
		switch _, rerr := f.inner.ReadAt(make([]byte, 1), off); {
		case rerr == io.EOF:
			return io.ErrUnexpectedEOF
		case errors.Is(rerr, os.ErrClosed):
			return os.ErrClosed
		case rerr != nil:
			return err
		}
	}
	return err
}

// causeLooks is how often causeOf looks whether a page is there again. A file that two processes
// truncate and extend all the time was missed by one look in 1 to 40% of the faults.
const causeLooks = 16
