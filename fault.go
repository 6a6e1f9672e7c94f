package mmapfile

import (
	"encoding/binary"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
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
	n := len(b)
	if !f.pages.Ready(int64(off), n) {
		return false
	}
	if !f.lockMapping(m) {
		return false
	}
	if locked { // otherwise an empty defer would cost a nanosecond
		defer f.unlockMappings()
	}
	// guard.End, inlined by hand: a nanosecond and a half less.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			guard.Faults.Add(1)
		}
	}()
	if n < guard.PieceFrom { // most are
		copy(b, m.data[off:off+n])
	} else {
		guard.CopyPieces(b, m.data[off:off+n])
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
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	guard.CopyPieces(b, m.data[off:off+len(b)])
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
	if !f.pages.Seen(page, 1) || f.sparse() && !f.pages.Ready(page, 1) { // f.known, inlined by hand
		return false
	}
	if !f.lockMapping(m) {
		return false
	}
	if locked {
		defer f.unlockMappings()
	}
	// guard.End, inlined by hand as in load.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			guard.Faults.Add(1)
		}
	}()
	guard.Put(m.data, b, off)
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
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	last := off + len(b) - 1
	at := last &^ (wordSize - 1)
	p := (*uint32)(unsafe.Pointer(&m.data[at]))
	first := max(off-at, 0) // of b in the word
	head := len(b) - (last - at + 1 - first)
	guard.Put(m.data, b[:head], off)
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
