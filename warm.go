package mmapfile

import (
	"io"
	"sync/atomic"
)

// heat counts what the kernel served, to find the moment from which a mapping
// pays: after warmCalls calls, or once twice the file's size was moved. A file
// that is opened, read once and closed never gets there. Calls that move much
// count by their bytes alone: they save few system calls for the pages that a
// mapping has to fault in.
type heat struct {
	word  atomic.Uint64 // calls in the upper 16 bits, bytes in the lower 48
	bytes atomic.Int64  // ask the file's size from here on; 0 means warmBytes
	tries atomic.Uint32 // each attempt in vain doubles the calls for the next
	place atomic.Int64  // the end of the last call at an offset
	jumps atomic.Uint32
	wrote atomic.Uint32 // calls of Write at the kernel's cursor
	ended atomic.Uint32 // calls of WriteAt behind what is known to be the file's
}

const (
	warmCalls  = 16
	warmBytes  = 256 << 10
	smallCall  = 64 << 10
	heatShift  = 48
	maxTries   = 10
	emptyTries = 3
	heatFull   = 1 << 47 // bytes: start anew before they run into the calls

	jump      = 64 << 10 // what one fault maps around itself, more or less
	jumpsEach = 8
	jumpsMost = 1 << 12
)

// warmAt is warm for a call at off. One far from the call before would meet a
// page fault in a mapping, which costs more than it saves until others come to the
// same place: so many of those count as one call that some come to each place of the
// file before it is mapped.
func (f *file) warmAt(n int, off int64) {
	if f.served() {
		return
	}
	last := f.heat.place.Swap(off + int64(n))
	if off < last-jump || off > last+jump {
		each := max(1, min(jumpsEach*f.size.Load()/(warmCalls*jump), jumpsMost))
		if f.heat.jumps.Add(1)%uint32(each) != 0 {
			f.heatUp(n, 0)
			return
		}
	}
	f.warm(n)
}

// served reports whether calls may use a mapping of the whole file.
func (f *file) served() bool {
	m := f.m.Load()
	return m != nil && f.size.Load() <= int64(m.limit)
}

// warm notes a call that the kernel served with n bytes, and maps the file if
// it is time. It takes no lock that somebody holds.
func (f *file) warm(n int) {
	if n < smallCall {
		f.heatUp(n, 1)
	} else {
		f.heatUp(n, 0)
	}
}

// askWrites is after how many calls of Write we ask where they go.
const askWrites = 64

// warmWrite is warm for a Write at the kernel's cursor. One that makes the file
// longer counts by its bytes alone: a file that is being made need not be mapped.
// So does one inside of it, but not many of them.
func (f *file) warmWrite(n int) {
	f.heatUp(n, 0)
	if !canMap || f.heat.wrote.Add(1)%askWrites != 0 || f.never.Load() || f.m.Load() != nil {
		return
	}
	pos, err := f.inner.Seek(0, io.SeekCurrent)
	if err != nil {
		return
	}
	if size, regular := f.stat(); regular && pos+int64(n)*askWrites < size {
		f.warmed(0, true)
	}
}

// warmEnd is warm for a WriteAt behind the end as we know it: of a file that was
// there before we may know nothing. So after 16, 32, 64 of those, and so on, it asks.
func (f *file) warmEnd() {
	n := f.heat.ended.Add(1)
	if canMap && n >= warmCalls && n&(n-1) == 0 && !f.never.Load() {
		f.stat()
	}
}

// heatUp is warm for calls that moved n bytes.
func (f *file) heatUp(n int, calls uint64) {
	if !canMap || f.never.Load() || f.served() {
		return
	}
	w := f.heat.word.Add(calls<<heatShift + uint64(n))
	calls = w >> heatShift
	bytes := int64(w & (1<<heatShift - 1))
	if calls < warmCalls<<f.heat.tries.Load() && bytes < max(warmBytes, f.heat.bytes.Load()) {
		return
	}
	f.warmed(bytes, calls >= warmCalls)
}

// warmed maps the file if it can be mapped and either enough small calls were
// made or enough bytes were moved.
func (f *file) warmed(bytes int64, calls bool) {
	if !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	size, regular := f.stat()
	if !regular {
		f.never.Store(true)
		return
	}
	if !calls && bytes < 2*size && bytes < heatFull {
		f.heat.bytes.Store(2 * size)
		return
	}
	f.heat.word.Store(0)
	tries := f.heat.tries.Load() + 1
	switch {
	case size == 0:
		f.heat.tries.Store(min(tries, emptyTries)) // it may be a log that begins
	case f.mapTo(size, false) != nil:
		f.heat.tries.Store(min(tries, maxTries))
	}
}
