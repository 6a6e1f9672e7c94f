package file

import (
	"os"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile/internal/guard"
)

// Guard is the method of mmapfile.File.
func (f *File) Guard(fn func() error) (err error) {
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
func (f *File) endGuard(old bool, returned *bool, err *error) {
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
	*err = f.fail("guard", f.causeOf(r, m, m.region.Data[off:off+1], int64(off)))
}

// beginGuard reports whether f is open. If closeNeedsLock, the memory stays mapped until
// releaseGuard.
func (f *File) beginGuard() bool {
	if !closeNeedsLock {
		return !f.mu.Closed() // a later Close reserves the memory, which then faults
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
func (f *File) releaseGuard() {
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
