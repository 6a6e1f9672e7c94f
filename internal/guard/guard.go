// Package guard accesses memory whose pages may be missing, and tells whose access a fault
// was.
//
// A page of a mapping is missing if the file was truncated, the disk is full under a hole,
// the device failed, or the range was made inaccessible. An access to it raises a signal,
// which [debug.SetPanicOnFault] turns into a panic of the goroutine.
package guard

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"go.dw1.io/mmapfile/internal/race"
)

// Faults counts the faults that were caught. Code that catches one by itself adds it.
var Faults atomic.Uint64

var pageSize = os.Getpagesize()

// End ends what debug.SetPanicOnFault began: old is its result. It must be deferred. Only a
// fault may panic in the function that defers it, and before ok is set.
func End(old bool, ok *bool) {
	debug.SetPanicOnFault(old)
	if !*ok && recover() != nil {
		Faults.Add(1)
	}
}

// Copy copies as many bytes as dst has from src to dst, and reports whether it could access
// every page.
func Copy(dst, src []byte) (ok bool) {
	defer End(debug.SetPanicOnFault(true), &ok)
	CopyPieces(dst, src[:len(dst)])
	return true
}

// Readable reports whether every page of p can be read.
func Readable(p []byte) (ok bool) {
	defer End(debug.SetPanicOnFault(true), &ok)
	touch(p)
	return true
}

// touch reads a word of each page of p.
func touch(p []byte) {
	if len(p) == 0 {
		return
	}
	for i := 0; i < len(p); i = (i | (pageSize - 1)) + 1 { // p starts anywhere in a page, so this skips none
		race.LoadWord(wordOf(&p[i]))
	}
	race.LoadWord(wordOf(&p[len(p)-1]))
}

func wordOf(b *byte) *uint32 {
	return (*uint32)(unsafe.Pointer(uintptr(unsafe.Pointer(b)) &^ 3))
}

// Writable reports whether every page of p can be stored to. p begins with a page. It adds
// zero to a word of each page, which marks the page as written. Under the race detector it
// only reads: a fault in an atomic operation ends the process there.
func Writable(p []byte) (ok bool) {
	if race.Detector {
		return Readable(p)
	}
	defer End(debug.SetPanicOnFault(true), &ok)
	for i := 0; i < len(p); i += pageSize {
		atomic.AddUint32((*uint32)(unsafe.Pointer(&p[i])), 0)
	}
	return true
}

// In returns where in p the panic r was a fault. It reports false if r is no fault, has no
// address, or has one outside the pages of p.
func In(r any, p []byte) (off int, ok bool) {
	e, ok := r.(runtime.Error)
	if !ok {
		return 0, false
	}
	a, ok := e.(interface{ Addr() uintptr })
	if !ok {
		return 0, false
	}
	addr, start := a.Addr(), uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	if addr < start&^uintptr(pageSize-1) || addr >= start+uintptr(len(p)) {
		return 0, false
	}
	return max(int(addr-start), 0), true
}

// Caused reports whether the panic r is a fault in the pages of p.
//
// A fault has its address, except in some emulators: under qemu-user 7.2, arm and ppc64le
// give none, arm64 and s390x a wrong one for SIGBUS. There a panic that looks like a fault
// is one in p if reading p faults.
func Caused(r any, p []byte) bool {
	if _, ok := In(r, p); ok {
		return true
	}
	return !addressed() && IsFault(r, true) && !Readable(p)
}

// IsFault reports whether the panic r is a fault, wherever it was. In an emulator it may look
// like a nil dereference: the runtime reports a fault at an address below 4 KiB as one. It is
// taken for a fault if own is set: then no code of a caller has run, which may have such a bug.
func IsFault(r any, own bool) bool {
	e, ok := r.(runtime.Error)
	if !ok {
		return false
	}
	if _, ok := e.(interface{ Addr() uintptr }); ok {
		return true
	}
	return own && e.Error() == "runtime error: invalid memory address or nil pointer dereference"
}

// Exiting reports whether the deferred function that calls it runs because of
// runtime.Goexit. Under GODEBUG=panicnil=1 recover returns nil for Goexit and for
// panic(nil). Only the stack tells them apart.
func Exiting() bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.Function == "runtime.gopanic" {
			return false
		}
		if frame.Function == "runtime.Goexit" || !more {
			return true
		}
	}
}
