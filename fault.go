package mmapfile

import (
	"encoding/binary"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"go.dw1.io/mmapfile/internal/race"
)

// Only this file, and callers' code under View, accesses memory of a mapping. A copy fails
// if a page cannot be loaded: the file was truncated, the disk is full under a hole, the
// device failed, or the File was closed. Then the caller repeats the whole call through the
// inner file.

var pageSize = os.Getpagesize()

const (
	wordSize = 4
	lineSize = 64 // within it, a look at the next bytes costs no further cache miss

	// From 1 MiB up, Go's copy bypasses the cache. That loses for sizes that fit into a
	// cache: 47 µs against 33 in pieces for 1 MiB. It wins from 4 MiB on, with 45 µs/MiB
	// against 60 and more (EPYC, Go 1.26). But the scheduler and the collector wait for a
	// copy to end, so it must not take long.
	pieceFrom  = 1 << 20
	smallPiece = 256 << 10
	largeFrom  = 4 << 20
	largePiece = 8 << 20
)

// lockMappings keeps the mappings of f as they are until unlockMappings, on platforms that
// need a lock for that. On the rest it compiles to nothing.
func (f *file) lockMappings() {
	if locked {
		f.mu.RLock()
	}
}

func (f *file) unlockMappings() {
	if locked {
		f.mu.RUnlock()
	}
}

// lockMapping is lockMappings if f still uses m. Otherwise it reports false and locks nothing.
func (f *file) lockMapping(m *mapping) bool {
	f.lockMappings()
	if locked && f.m.Load() != m {
		f.unlockMappings()
		return false
	}
	return true
}

// load copies file bytes from m at off into b. It reports false if pages are not ready or
// cannot be loaded, or if the file may be shorter than f knows.
func (f *file) load(m *mapping, b []byte, off int) (ok bool) {
	// ready, inlined by hand for what most calls ask: two nanoseconds less.
	n := len(b)
	first, last := uint64(off)>>pageBits, uint64(off+n-1)>>pageBits
	if w := f.pages.word(int64(first / 16)); w == nil || runLength(w.Load()>>readyShift, first) <= last-first {
		if !f.pages.ready(int64(off), n) {
			return false
		}
	}
	if !f.lockMapping(m) {
		return false
	}
	if locked { // otherwise an empty defer would cost a nanosecond
		defer f.unlockMappings()
	}
	// unguard, inlined by hand: a nanosecond and a half less.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			stats.faults.Add(1)
		}
	}()
	if n < pieceFrom { // most are; copyIn would be a call more
		copy(b, m.data[off:off+n])
	} else {
		copyIn(b, m.data[off:off+n])
	}
	ok = b[n-1] != 0 || f.reaches(m, off+n-1)
	runtime.KeepAlive(f) // the range lives as long as f
	return ok
}

// loadKnown is load for bytes whose presence in the file the caller proves afterwards.
func (f *file) loadKnown(m *mapping, b []byte, off int) (ok bool) {
	if !f.lockMapping(m) {
		return false
	}
	defer f.unlockMappings()
	defer unguard(debug.SetPanicOnFault(true), &ok)
	copyIn(b, m.data[off:off+len(b)])
	runtime.KeepAlive(f)
	return true
}

// store copies b into m at off, not into the file's last page. It reports false as load
// does. Then a part may be stored, which the caller's repeated write covers.
func (f *file) store(m *mapping, b []byte, off int) (ok bool) {
	page := m.pageAfter(off + len(b) - 1)
	if f.isLast(m, page) {
		return f.storeLast(m, b, off)
	}
	if !f.pages.seen(page, 1) {
		return false
	}
	if !f.lockMapping(m) {
		return false
	}
	if locked {
		defer f.unlockMappings()
	}
	// unguard, inlined by hand as in load.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			stats.faults.Add(1)
		}
	}()
	m.put(b, off)
	m.touch(page) // a truncation that came before the end of the copy has taken it
	runtime.KeepAlive(f)
	return true
}

// storeLast is store if b ends in the file's last page. No page after it shows a
// truncation, but a truncation zeroes the rest of the page. So the last word is exchanged
// for what it was. If its byte was not zero at that moment, the file reached it. Otherwise
// bytes after b that are not zero show it.
func (f *file) storeLast(m *mapping, b []byte, off int) (ok bool) {
	if race.Detector { // see internal/race
		return false
	}
	if !f.lockMapping(m) {
		return false
	}
	defer f.unlockMappings()
	defer unguard(debug.SetPanicOnFault(true), &ok)
	last := off + len(b) - 1
	at := last &^ (wordSize - 1)
	p := (*uint32)(unsafe.Pointer(&m.data[at]))
	first := max(off-at, 0) // of b in the word
	head := len(b) - (last - at + 1 - first)
	m.put(b[:head], off)
	for {
		old := race.LoadWord(p)
		var word [wordSize]byte
		binary.NativeEndian.PutUint32(word[:], old)
		proof := word[last-at] != 0
		copy(word[first:], b[head:])
		if atomic.CompareAndSwapUint32(p, old, binary.NativeEndian.Uint32(word[:])) {
			ok = proof || m.lineAfter(last+1)
			break
		}
	}
	runtime.KeepAlive(f)
	return ok
}

// tryCopy copies as many bytes as dst has from src to dst, and reports whether it could
// access every page.
func tryCopy(dst, src []byte) (ok bool) {
	defer unguard(debug.SetPanicOnFault(true), &ok)
	copyIn(dst, src[:len(dst)])
	return true
}

// readable reports whether every page of p can be read.
func readable(p []byte) (ok bool) {
	defer unguard(debug.SetPanicOnFault(true), &ok)
	for i := 0; i < len(p); i = (i | (pageSize - 1)) + 1 {
		// p starts anywhere in a page, so this skips none.
		race.LoadWord((*uint32)(unsafe.Pointer(uintptr(unsafe.Pointer(&p[i])) &^ 3)))
	}
	if len(p) > 0 {
		race.LoadWord((*uint32)(unsafe.Pointer(uintptr(unsafe.Pointer(&p[len(p)-1])) &^ 3)))
	}
	return true
}

// storable reports whether every page of p can be stored to. p begins with a page. storable
// adds zero to a word of each, which marks the page as written.
func storable(p []byte) (ok bool) {
	defer unguard(debug.SetPanicOnFault(true), &ok)
	for i := 0; i < len(p); i += pageSize {
		atomic.AddUint32((*uint32)(unsafe.Pointer(&p[i])), 0)
	}
	return true
}

// unguard ends what SetPanicOnFault began. Only a fault can panic here, and it comes before
// ok is set.
func unguard(old bool, ok *bool) {
	debug.SetPanicOnFault(old)
	if !*ok && recover() != nil {
		stats.faults.Add(1)
	}
}

// copyIn is copy for slices of the same length.
func copyIn(dst, src []byte) {
	switch n := len(dst); {
	case n < pieceFrom:
		copy(dst, src)
	case n < largeFrom:
		copyPieces(dst, src, smallPiece)
	default:
		copyPieces(dst, src, largePiece)
	}
}

// put is copyIn to m at off. A piece of a larger file is seldom in the cache when it is
// written. Writing 1 MiB each into a file of 64 MiB took 61 µs past the cache, 114 through
// it.
func (m *mapping) put(b []byte, off int) {
	dst := m.data[off : off+len(b)]
	if len(b) < pieceFrom { // most are; copyIn would be a call more
		copy(dst, b)
	} else if len(m.data) < largeFrom {
		copyIn(dst, b)
	} else {
		copyPieces(dst, b, largePiece)
	}
}

// copyPieces is copy for slices of the same length, in pieces of that many bytes.
func copyPieces(dst, src []byte, piece int) {
	if len(dst) > piece && overlap(dst, src) {
		copy(dst, src)
		return
	}
	for len(dst) > piece {
		copy(dst[:piece], src[:piece])
		dst, src = dst[piece:], src[piece:]
	}
	copy(dst, src)
}

// overlap reports whether a and b share memory: a caller may write a file's own Bytes to
// it. Both have the same length and are not empty.
func overlap(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return x-y < uintptr(len(a)) || y-x < uintptr(len(a))
}
