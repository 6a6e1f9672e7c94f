package file

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
)

// A copy from a mapping fails if a page cannot be loaded: the file was truncated, the disk is
// full under a hole, the device failed, or the File was closed. Then the caller repeats the
// whole call through the inner file.

var pageSize = os.Getpagesize()

const (
	wordSize = int(unsafe.Sizeof(uintptr(0)))
	lineSize = 64 // within it, a look at the next bytes costs no further cache miss
)

// lockMappings keeps the mappings of f as they are until unlockMappings, on platforms that
// need a lock for that. On the rest it compiles to nothing.
func (f *File) lockMappings() {
	if closeNeedsLock {
		f.mu.RLock()
	}
}

func (f *File) unlockMappings() {
	if closeNeedsLock {
		f.mu.RUnlock()
	}
}

// tryLockMapping is lockMappings if f still uses m. Otherwise it reports false and locks nothing.
func (f *File) tryLockMapping(m *mapping) bool {
	f.lockMappings()
	if closeNeedsLock && f.m.Load() != m {
		f.unlockMappings()
		return false
	}
	return true
}

// load copies file bytes from m at off into b. It reports false if pages are not ready or cannot be loaded, or if the
// file may be shorter than f knows. tried says that they were ready.
func (f *File) load(m *mapping, b []byte, off int) (ok, tried bool) {
	n := len(b)
	how := f.pages.Draw(int64(off), n, true)
	if how == pages.System || !f.tryLockMapping(m) {
		return false, false
	}
	if closeNeedsLock { // otherwise an empty defer would cost a nanosecond
		defer f.unlockMappings()
	}
	tried = true // also if it faults
	// guard.End, inlined by hand: a nanosecond and a half less.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			guard.Faults.Add(1)
		}
	}()
	if how == pages.Copy && n < pages.Long {
		copy(b, m.data[off:off+n])
		ok = f.proven(m, b, off)
	} else {
		ok = f.copyAs(how, m, b, off)
	}
	runtime.KeepAlive(f) // the range lives as long as f
	return ok, tried
}

// proven reports whether b, which was copied from m at off, is in the file.
func (f *File) proven(m *mapping, b []byte, off int) bool {
	return b[len(b)-1] != 0 || f.immutable || f.provesZero(m, off+len(b)-1)
}

// copyAs copies file bytes from m at off into b, or reads them if how says so. It reports whether all of b was read, and
// is in the file.
func (f *File) copyAs(how pages.How, m *mapping, b []byte, off int) (ok bool) {
	n, src := int64(len(b)), m.data[off:off+len(b)]
	switch how {
	case pages.TimedRead:
		took, times := time.Duration(0), n < pages.Long || f.mayTime(int64(off), len(b))
		if n < pages.Long {
			// Alone among copies it would take longer, because the kernel's code has left the caches: a read of nothing first.
			f.inner.ReadAt(b[:1], f.length.Known())
		}
		began := time.Now()
		if n, _ := f.inner.ReadAt(b, int64(off)); n < len(b) {
			return false
		}
		if times {
			took = time.Since(began)
		}
		f.pages.Took(how, n, took)
		return true
	case pages.TimedCopy:
		began := time.Now()
		guard.CopyPieces(b, src)
		ok = f.proven(m, b, off)
		f.pages.Took(how, n, time.Since(began))
		return ok
	default:
		guard.CopyPieces(b, src)
		return f.proven(m, b, off)
	}
}

// loadKnown is load for bytes whose presence in the file the caller proves afterwards. It counts nothing.
func (f *File) loadKnown(m *mapping, b []byte, off int) (ok bool) {
	how := f.pages.Draw(int64(off), len(b), false)
	if how == pages.System {
		return false
	}
	if !f.tryLockMapping(m) {
		return false
	}
	defer f.unlockMappings()
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	ok = f.copyAs(how, m, b, off)
	runtime.KeepAlive(f)
	return ok
}
