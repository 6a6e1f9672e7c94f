package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// Bytes returns the whole file as one slice of exactly its present length,
// capacity included. It asks the file for that length and maps it if need be;
// nil means that it is empty, closed or cannot be mapped. Bytes may be called
// concurrently with everything, Close included.
//
// The memory is the file's own, shared with other processes: storing into it
// writes the file if that was opened with [os.O_RDWR] (and on Windows without [os.O_APPEND]), and is
// a fault if it was not. It
// belongs to f and ends with [File.Close], and no sooner when the file grows; it
// does not grow itself, so call again. f must stay reachable while it is used
// ([runtime.KeepAlive]). Where the file is cut, by anyone, the part of the
// slice that is gone faults when it is touched, which ends the process:
// [File.View] is the form that is safe from that. The memory is not
// synchronised with concurrent writes.
//
// Where the system maps nothing beyond a file's end (Windows), each Bytes that
// finds the file grown leaves one more mapping until Close.
//
// On Windows nobody else can truncate the file from then on, until Close: it
// refuses that (ERROR_USER_MAPPED_FILE) for a file that is mapped. That is why
// there calls use a mapping only once Bytes or View has asked for one.
//
// What was stored is in the file at once and durable after [File.Sync]. The file's
// modification time is the kernel's matter then, which moves it when it first finds a page
// changed. Where a platform has no mappings (build tag nommap), the slice
// is a copy in memory, written back by Sync, Close and calls that go to the file.
func (f *File) Bytes() []byte {
	if f == nil {
		return nil
	}
	if !canMap {
		return f.bytesCopy()
	}
	size := f.ask()
	if size <= 0 {
		return nil
	}
	m, err := f.mapped(size, true)
	if err != nil {
		return nil
	}
	size = min(size, int64(len(m.data)))
	return m.data[:size:size]
}

// mapped returns a mapping of at least size bytes; lend says that callers will
// hold slices of it for as long as the File is open. Where locked, it is pinned
// otherwise; and it may be shorter, if the file has become so meanwhile.
func (f *file) mapped(size int64, lend bool) (*mapping, error) {
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
	case lend:
		m.region.lent.Store(true)
	case locked:
		m.region.pins.Add(1)
	}
	return m, nil
}

// View calls fn with the n bytes of the file at off, in place. It may be called
// concurrently with everything, Close included, and fn may call methods of f.
//
// p is the file's own memory as [File.Bytes] describes it; it ends when fn
// returns. Unlike there, a fault inside fn, on the goroutine that called it,
// does not end the process: fn is abandoned where it was, and View returns a
// *[fs.PathError] with Op "view" and [os.ErrClosed], [io.ErrUnexpectedEOF] where
// the file was cut, [fs.ErrPermission] for a store into a file not open for
// writing, or the system's error. Any other panic of fn goes on.
//
// A range that goes past the end of the file is [io.EOF], and fn is not called;
// a negative off or n is [fs.ErrInvalid] and what cannot be mapped
// [errors.ErrUnsupported] or the system's error, both in a *fs.PathError. The
// error of fn is returned as it is. View does not allocate. Where a platform
// has no mappings (build tag nommap), p is a copy in memory, and what fn changed
// in it is written when fn returns.
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
	m, err := f.window(off, n)
	if err != nil {
		if err == io.EOF {
			return err
		}
		return f.fail("view", err)
	}
	switch {
	case n == 0:
		return fn([]byte{})
	case !canMap:
		return f.viewCopy(off, int(n), fn)
	case locked:
		defer m.region.unpin() // see mapped
	}
	return f.call(m, m.data[off:off+n:off+n], off, fn)
}

// window finds a mapping that shows n bytes at off, all of them in the file.
func (f *file) window(off, n int64) (*mapping, error) {
	m := f.m.Load()
	if !locked && m != nil && n > 0 && n <= maxInt && f.covers(m, off, int(n)) && f.holds(m, int(off+n-1)) {
		return m, nil
	}
	size := f.ask()
	switch {
	case size < 0:
		f.mu.RLock()
		defer f.mu.RUnlock()
		if _, err := f.inner.Stat(); f.closed || errors.Is(err, os.ErrClosed) {
			return nil, os.ErrClosed
		}
		return nil, errors.ErrUnsupported
	case off+n > size:
		return nil, io.EOF
	case n == 0 || !canMap:
		return nil, nil
	case size > mapLimit:
		size = off + n // as much as is needed, where address space is short
	}
	if m := f.m.Load(); locked && m != nil && off+n <= int64(len(m.data)) {
		size = off + n // spare the longer one, which would stay beside it
	}
	m, err := f.mapped(size, false)
	if locked && err == nil && off+n > int64(len(m.data)) {
		m.region.unpin()
		return nil, io.EOF
	}
	return m, err
}

// call runs fn on p under the guard.
func (f *file) call(m *mapping, p []byte, off int64, fn func(p []byte) error) (err error) {
	defer f.endCall(debug.SetPanicOnFault(true), m, p, off, f.truncs.Load(), &err)
	return fn(p)
}

// endCall turns a fault inside p into an error, and lets every other panic go on.
func (f *file) endCall(old bool, m *mapping, p []byte, off int64, cuts uint32, err *error) {
	debug.SetPanicOnFault(old)
	switch r := recover(); {
	case r == nil:
		// A store behind an end that has moved here makes the rest of the last
		// page look like file (see reaches): ask while it can be told.
		if m.writable && !f.inside(m, int(off)+len(p)-1) {
			f.ask()
		}
	case f.faulted(r, p, cuts):
		*err = f.fail("view", f.faultCause(m, p, off))
	default:
		panic(r)
	}
	runtime.KeepAlive(f)
}

// faulted reports whether the panic r is a fault in the pages of p. An emulator
// may give a wrong address (qemu-user 7.2 does for SIGBUS), and not every platform gives
// one: there the pages themselves are tried, and whether they were cut off and came back.
func (f *file) faulted(r any, p []byte, cuts uint32) bool {
	e, ok := r.(runtime.Error)
	if !ok {
		return false
	}
	a, ok := e.(interface{ Addr() uintptr })
	if ok && a.Addr() != 0 {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		first := start &^ uintptr(pageSize-1)
		if a.Addr() >= first && a.Addr() < start+uintptr(len(p)) || f.truncs.Load() != cuts {
			return true
		}
	}
	return !readable(p)
}

// faultCause finds out why p faulted.
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
	case !m.writable && readable(p):
		return fs.ErrPermission
	}
	return syscall.EIO
}
