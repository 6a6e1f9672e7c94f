package mmapfile

import (
	"os"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile/internal/guard"
)

// Guard calls fn and turns a fault in memory of f into an error. fn may use all memory that
// f has exposed, at any time: what [File.Bytes], [File.Chunks], [At] and [SliceAt] have
// returned. Guard is for code that keeps such memory and cannot use [File.View].
//
// If the memory faults on the goroutine that called Guard, the fault ends fn. Guard returns
// a *[fs.PathError] with Op "guard" and the reason, as View does. A mutex that fn has
// locked stays locked, unless fn defers the unlock. A map that fn was writing must not be
// used again. Any other panic of fn continues. A fault inside the Go runtime ends the
// process, as in View.
//
// If f is closed, the error is [os.ErrClosed], and fn is not called. The error of fn is
// returned as it is. Guard does not allocate, and guarded calls can be nested.
func (f *File) Guard(fn func() error) (err error) {
	if f == nil {
		return os.ErrInvalid
	}
	if f.innerClosed() || !f.beginGuard() {
		return f.fail("guard", os.ErrClosed)
	}
	returned := false
	defer f.endGuard(debug.SetPanicOnFault(true), &returned, &err)
	err = fn()
	returned = true
	return err
}

// endGuard turns a fault in memory of f into an error, and lets every other panic continue.
func (f *file) endGuard(old bool, returned *bool, err *error) {
	debug.SetPanicOnFault(old)
	defer f.releaseGuard()
	r := recover()
	if *returned || r == nil && guard.Exiting() {
		return
	}
	m, off := f.faultAt(r)
	if m == nil {
		panic(r)
	}
	guard.Faults.Add(1)
	*err = f.fail("guard", f.causeOf(r, m, m.region.data[off:off+1], int64(off)))
}

// beginGuard reports whether f is open. If closeNeedsLock, the memory stays mapped until
// releaseGuard.
func (f *file) beginGuard() bool {
	if !closeNeedsLock {
		f.mu.RLock()
		defer f.mu.RUnlock()
		return !f.mu.Closed()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.Closed() {
		return false
	}
	f.needCold().guards++
	return true
}

// releaseGuard undoes beginGuard.
func (f *file) releaseGuard() {
	if closeNeedsLock {
		f.mu.Lock()
		defer f.mu.Unlock()
		c := f.needCold()
		if c.guards--; c.guards == 0 && f.mu.Closed() {
			f.revoke()
		}
	}
	runtime.KeepAlive(f) // the ranges live as long as f
}
