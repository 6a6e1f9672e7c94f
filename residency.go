package mmapfile

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// stats has the figures of Stats that have no other source.
var stats struct {
	files                         atomic.Int64
	calls, majorFaults, prefaults atomic.Uint64
}

// tracks reports whether pages of f are recorded: calls may use its mapping, or the one
// that it will have.
func (f *file) tracks() bool {
	if !canMap || split {
		return false
	}
	if !f.never.Load() {
		return true
	}
	m := f.m.Load()
	return m != nil && m.limit > 0
}

// noteRead records a read by system call. short says that it reached the end of file.
func (f *file) noteRead(off, n int64, short bool) {
	if n <= 0 || !f.tracks() || !f.noteCall(n) {
		return
	}
	p, end := &f.pages, off+n
	last := p.next.Load()
	p.next.Store(end)
	if p.note(noteSeen, off, n) {
		if p.ready(off, int(n)) {
			f.prereadNext(end)
		}
		p.countReread(off, n)
		f.saves(end, weight(n))
	}
	switch asked := p.asked.Load(); {
	case n > orderMost || short:
	case last != off && (asked == 0 || asked < off || asked > end): // mapped reads do not move next
		if p.run.Load() > 0 {
			p.run.Store(0)
			p.asked.Store(0)
		}
	case p.run.Add(1) >= orderFrom && end >= asked:
		f.lookAhead(end, n)
	}
}

// noteWrite records a write by system call. A write past the known end does not count: a
// file that is being created need not be mapped.
func (f *file) noteWrite(off, n int64) {
	if !f.tracks() {
		return
	}
	p := &f.pages
	if end := off + n; end > p.end.Load() && end > f.size.Load() {
		p.end.Store(end)
		// Nothing may be known of a file that existed before: ask now and then.
		if k := p.past.Add(1); k >= trackFrom && k&(k-1) == 0 {
			f.stat()
		}
		return
	}
	if f.noteCall(n) && p.note(noteSeen, off, n) {
		f.saves(off+n, weight(n))
	}
}

// noteCall counts a system call for n bytes, and reports whether its pages are to be
// recorded.
func (f *file) noteCall(n int64) bool {
	calls := f.pages.calls.Add(1)
	if calls == trackFrom && f.m.Load() == nil {
		if _, regular := f.stat(); !regular { // a stream has no pages
			f.never.Store(true)
		}
	}
	if calls%checkEvery == 0 {
		stats.calls.Add(checkEvery)
		checkEvictions()
	}
	return calls >= trackFrom || n >= aheadBytes
}

// saves counts what a mapping up to end would have saved, and makes the mapping if it pays.
func (f *file) saves(end int64, calls uint64) {
	if m := f.m.Load(); m != nil && end <= int64(m.limit) {
		return
	}
	p := &f.pages
	if f.never.Load() || uint64(p.back.Add(uint32(min(calls, mapFrom)))) < mapFrom<<p.tries.Load() || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	p.back.Store(0)
	size, regular := f.stat()
	switch {
	case !regular:
		f.never.Store(true)
	case size == 0 || f.mapTo(size, false) != nil:
		p.tries.Store(min(p.tries.Load()+1, 10))
	}
}

// lookAhead makes the range after a run of reads of n bytes ready, if it is in memory.
func (f *file) lookAhead(off, n int64) {
	p := &f.pages
	size := f.size.Load()
	if off >= size {
		var regular bool
		if size, regular = f.stat(); !regular {
			f.never.Store(true)
		}
	}
	end := min((off+aheadBytes)>>blockBits<<blockBits, size)
	p.asked.Store(off + aheadBytes)
	if end > off && f.cached(off, end) {
		p.asked.Store(end)
		p.note(noteReady, off, end-off)
		f.saves(end, uint64((end-off)/n))
	}
}

// cached reports whether the file's pages from off to end are known to be in memory.
func (f *file) cached(off, end int64) bool {
	if f.pages.blind.Load() {
		return false
	}
	in, err := sys.InMemory(f.inner, off, end-off)
	if err != nil { // not even a refusal by a system call filter is worth another call
		f.pages.blind.Store(true)
	}
	return err == nil && in
}

// prereadNext records the page after off as known. A read that ends in zeros, with ready
// pages, looks there for the end of the file (see reaches).
func (f *file) prereadNext(off int64) {
	page := (off + int64(pageSize) - 1) &^ int64(pageSize-1)
	if page < f.size.Load() && !f.pages.seen(page, 1) && !f.readIn(page, page+1) {
		if size, regular := f.stat(); regular { // it may have been truncated
			f.pages.truncated(size)
		}
	}
}

// preread loads the n bytes at off of the mapped file into memory before user code or a
// guarded copy accesses them. It reads them by system call, up to prereadMost, if they are
// not known to be there.
func (f *file) preread(m *mapping, off, n int64) {
	if !canMap || split {
		return
	}
	size := min(f.size.Load(), int64(len(m.data)))
	if n > prereadMost && off+n <= size && !f.pages.seen(off+n-1, 1) {
		f.readIn(off+n-1, off+n) // the page in which reaches looks for the end of file
	}
	for end := min(off+min(n, prereadMost), size); off < end; {
		next := min((off+aheadBytes)>>blockBits<<blockBits, end)
		if !f.pages.seen(off, int(next-off)) {
			start, stop := off>>blockBits<<blockBits, min((next+1<<blockBits-1)>>blockBits<<blockBits, size)
			if f.cached(start, stop) {
				f.pages.note(noteReady, start, stop-start)
			} else if f.pages.blind.Load() && !locked && sys.Advise(m.data[off&^int64(pageSize-1):next], sys.PopulateRead) == nil {
				f.pages.note(noteReady, off, next-off)
			} else if !f.readIn(off, next) {
				return
			}
		}
		off = next
	}
}

// copyBuf holds buffers of the size that io.Copy allocates anew for each copy. The size is
// the same because it is visible in the cursor if a Writer fails, or seeks the file. Pieces
// of 64 to 256 KiB were no faster (100 KiB to 10 MiB, three rounds).
var copyBuf = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readIn reads the file from off to end into memory, and reports whether it could.
func (f *file) readIn(off, end int64) bool {
	buf := copyBuf.Get().(*[32 << 10]byte)
	defer copyBuf.Put(buf)
	for off < end {
		n, err := f.inner.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if n > 0 {
			f.pages.note(noteReady, off, int64(n))
		}
		if err != nil && (err != io.EOF || n == 0) {
			return false
		}
		off += int64(n)
	}
	return true
}

// evictions makes all Files forget what they know of their pages once the process has had
// major faults. Then it accessed pages that the system had evicted.
var evictions struct {
	gen    atomic.Uint32 // incremented when what is known becomes void
	faults atomic.Int64  // major faults of the process, as last seen
	last   atomic.Int64  // when gen was incremented, in nanoseconds since started
	ticked atomic.Int64  // when the timer last looked for them; 0 if there is none
}

var started = time.Now()

// evictBlind is evictPause if the system does not count major faults.
const evictBlind = 10 * evictTick

// watchEvictions looks for evictions while anything is mapped. It needs no goroutine. If
// the last look is long overdue, its timer was that of a test with a clock of its own.
func watchEvictions() {
	now, last := int64(time.Since(started)), evictions.ticked.Load()
	if (last == 0 || now-last > 3*int64(evictTick)) && evictions.ticked.CompareAndSwap(last, max(now, 1)) {
		faults, _ := sys.MajorFaults()
		evictions.faults.Store(faults)
		time.AfterFunc(evictTick, tick)
	}
}

func tick() {
	if ranges.Load() > reserved.Load() {
		evictions.ticked.Store(max(int64(time.Since(started)), 1))
		checkEvictions()
		time.AfterFunc(evictTick, tick)
		return
	}
	evictions.ticked.Store(0)
	if ranges.Load() > reserved.Load() {
		watchEvictions()
	}
}

// checkEvictions increments gen if there were major faults since the last time, but not
// twice in evictPause.
func checkEvictions() {
	if evictions.ticked.Load() == 0 {
		return // nothing is mapped
	}
	faults, ok := sys.MajorFaults()
	known, last, now := evictions.faults.Load(), evictions.last.Load(), int64(time.Since(started))
	pause := evictPause
	if !ok {
		pause = evictBlind
	}
	if ok && faults == known || now-last < int64(pause) || !evictions.last.CompareAndSwap(last, now) {
		return
	}
	stats.majorFaults.Add(uint64(max(faults-known, 0)))
	evictions.faults.Store(faults)
	evictions.gen.Add(1)
}
