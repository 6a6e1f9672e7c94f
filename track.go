package mmapfile

import (
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// Reads and writes by system call are recorded in f.pages, which decides when mapping the
// file pays. The functions here do what it decides.

// tracks reports whether pages of f are recorded: calls may use its mapping, or the one
// that it will have.
func (f *file) tracks() bool {
	if !canMap || noUnifiedCache {
		return false
	}
	if !f.never.Load() {
		return true
	}
	m := f.m.Load()
	return m != nil && m.callLen > 0
}

// noteRead records a read by system call. short says that it reached the end of file.
func (f *file) noteRead(off, n int64, short bool) {
	if n <= 0 || !f.tracks() {
		return
	}
	next := f.pages.Read(off, n, short)
	if next == (pages.Next{}) {
		return
	}
	f.follow(next, off+n)
	if next.Reread && f.mapsTo(off+n) && !f.readNextPage(off, n) && !short {
		f.pages.Unproven(off, n, pageAfter(int(off+n-1)) >= f.length.Known())
	}
	if next.Joined {
		if took := f.loadBlocks(off+n-1, 1); took > 0 {
			f.pages.SetJoined(took)
		}
	}
	if next.Due && f.mapsTo(off+n) {
		f.buy(off, n)
	}
	switch {
	case next.Broken:
		f.readInOrder(false)
	case next.Ask:
		f.lookAhead(off+n, n)
	}
}

// noteWrite records a write by system call. known is the length that was known before it.
func (f *file) noteWrite(off, n, known int64) {
	if !f.tracks() {
		return
	}
	next, stat := f.pages.Write(off, n, known)
	if stat {
		f.stat()
	}
	if next != (pages.Next{}) {
		f.follow(next, off+n)
	}
}

// follow does what reads and writes up to end have in common.
func (f *file) follow(next pages.Next, end int64) {
	if next.Look {
		stats.calls.Add(pages.LookEvery)
		pages.Look()
		if pages.MeasuresCall() {
			f.measureCall(end - 1)
		}
	}
	if next.Credit > 0 && !f.mapsTo(end) && !f.never.Load() && f.pages.Credit(next.Credit) {
		f.mapForCalls()
	}
}

// storageOf asks the system once.
func (f *file) storageOf() sys.Storage {
	kind := sys.Storage(f.storage.Load())
	if kind == 0 {
		if kind = sys.StorageOf(f.inner); kind == sys.StorageMemory {
			f.pages.Confirm() // before another call can map the file
		}
		f.storage.Store(uint32(kind))
	}
	return kind
}

// onMappable reports whether calls may use a mapping of some file on the storage of f.
func (f *file) onMappable() bool {
	kind := f.storageOf()
	return f.mapsOn(kind, false) || f.mapsOn(kind, true)
}

// sparse reports whether a hole of the file is not to be read from the mapping (tmpfs).
func (f *file) sparse() bool { return f.storage.Load() == uint32(sys.StorageMemory) }

// buy makes pages of a reread range ready if that pays. What was read from a hole of tmpfs is
// not in memory.
func (f *file) buy(off, n int64) {
	exists, measure := f.pages.Buy(off, n)
	if exists {
		// Most often the blocks exist as a whole, and then one question is enough. What was paid is enough for two.
		from, end := off&^(pages.BlockSize-1), min((off+n+pages.BlockSize-1)&^(pages.BlockSize-1), f.length.Known())
		if !f.cached(from, end) {
			if from, end = off, off+n; !f.cached(from, end) {
				return
			}
		}
		f.pages.Note(pages.Ready, from, end-from)
	}
	if measure >= 0 {
		f.measureFaults(measure, 1)
	}
}

// measureCall measures a small read of a page that is in memory, by system call. Of three, the
// fastest has not waited for a processor. It reads only from what can be mapped: a read of
// /dev/kmsg takes a message away.
func (f *file) measureCall(off int64) {
	if _, regular := f.stat(); !regular || !f.onMappable() {
		f.never.Store(true)
		return
	}
	least := time.Duration(math.MaxInt64)
	var b [1]byte
	for range 3 {
		began := time.Now()
		if _, err := f.inner.ReadAt(b[:], off); err != nil {
			if err != io.EOF { // it is open for writing only, or has O_DIRECT
				f.never.Store(true)
			}
			return
		}
		least = min(least, time.Since(began))
	}
	pages.SetCall(least)
}

// measureFaults loads pages of so many blocks from off on, which are in memory, to measure what
// the faults take.
func (f *file) measureFaults(off, blocks int64) {
	if took := f.loadBlocks(off, blocks); took > 0 {
		f.pages.SetFault(took, blocks)
	}
}

// loadBlocks loads a page of so many blocks from off on, and returns the nanoseconds that it took,
// or 0 if they are not mapped.
func (f *file) loadBlocks(off, blocks int64) (took int64) {
	m := f.m.Load()
	if blocks == 0 || m == nil || off+(blocks-1)*pages.BlockSize >= int64(m.callLen) || !f.tryLockMapping(m) {
		return 0
	}
	defer f.unlockMappings()
	var ok bool
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	began := time.Now()
	m.touch(off &^ int64(pageSize-1))
	for i := range blocks - 1 {
		m.touch((off/pages.BlockSize + i + 1) * pages.BlockSize)
	}
	took = max(int64(time.Since(began)), 1)
	ok = true
	runtime.KeepAlive(f)
	return took
}
