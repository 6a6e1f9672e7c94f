package mmapfile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// region owns the address range of a mapping. It does not lead back to the
// File, so that it can be the argument of the File's cleanup.
type region struct {
	data  []byte
	state atomic.Uint32
	lent  atomic.Bool  // Bytes has handed out slices
	pins  atomic.Int64 // where locked: calls of View inside
}

// The states of a region.
const (
	regionMapped   = iota
	regionReserved // inaccessible, and counted in reservedRanges
	regionGone
)

// Ranges that are closed but may still be inside a call stay reserved until
// their File is unreachable. The system allows some 65,530 ranges in all
// (vm.max_map_count), so for each reservedGC that have come we ask for a
// collection, and past reservedMax nothing new is mapped unasked until one has
// run: system calls serve those files. Bytes and View wait for the collection,
// and get theirs up to twice that. Address space is scarce on 32 bits, hence the
// same bounds in bytes.
const (
	reservedGC       = 8 << 10
	reservedMax      = 16 << 10
	reservedBytesMax = mapLimit
)

var (
	reservedRanges atomic.Int64
	reservedBytes  atomic.Int64

	collecting sync.Mutex
	keptRanges atomic.Int64 // what the last collection left: its Files are still in use
	keptBytes  atomic.Int64
)

// roomFor reports whether another range of size bytes may be mapped; asked for
// by Bytes or View, it makes room if it can.
func roomFor(size int64, asked bool) bool {
	if reservedRanges.Load() <= reservedMax && reservedBytes.Load()+size <= reservedBytesMax {
		return true
	}
	if !asked {
		if reservedRanges.Load() > keptRanges.Load() {
			go collect()
		}
		return false
	}
	collect()
	for range 1000 { // the cleanups run on a goroutine of their own
		if reservedRanges.Load() <= reservedMax && reservedBytes.Load() <= reservedBytesMax {
			break
		}
		runtime.Gosched()
	}
	return reservedRanges.Load() <= 2*reservedMax
}

// collect has closed Files that nobody uses give their ranges back, unless that is being done.
func collect() {
	if collecting.TryLock() {
		runtime.GC()
		keptRanges.Store(reservedRanges.Load())
		keptBytes.Store(reservedBytes.Load())
		collecting.Unlock()
	}
}

func newRegion(f *file, data []byte) *region {
	r := &region{data: data}
	r.pins.Store(1)
	runtime.AddCleanup(f, (*region).free, r)
	return r
}

// revoke ends the use of the range and lets go of the file. It becomes
// inaccessible at once for every goroutine: a late access faults, and never
// meets somebody else's memory. Where the platform cannot do that, the range
// is given back as soon as nobody is inside, which the File's lock tells.
func (r *region) revoke() {
	if locked {
		r.unpin()
		return
	}
	if !r.state.CompareAndSwap(regionMapped, regionReserved) {
		return
	}
	n := reservedRanges.Add(1)
	bytes := reservedBytes.Add(int64(len(r.data)))
	reserve(r.data)
	if n-keptRanges.Load() <= reservedGC && bytes-keptBytes.Load() <= reservedBytesMax/2 {
		return
	}
	go collect()
}

// free gives the range back. No call can be inside: its File is unreachable.
func (r *region) free() {
	switch r.state.Swap(regionGone) {
	case regionReserved:
		lower(&keptRanges, reservedRanges.Add(-1))
		lower(&keptBytes, reservedBytes.Add(-int64(len(r.data))))
		unmap(r.data)
	case regionMapped:
		unmap(r.data)
	}
}

// lower makes kept no more than what there is. Cleanups, which call it, run after the
// collection that found them has been counted.
func lower(kept *atomic.Int64, now int64) {
	if kept.Load() > now {
		kept.Store(now)
	}
}

// pin keeps m's range until unpin, where locked.
func (f *file) pin(m *mapping) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.m.Load() != m {
		return false
	}
	m.region.pins.Add(1)
	return true
}

// unpin gives the range back with the last pin, one of which is the File's.
func (r *region) unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// beforeCut prepares a truncation: where the system refuses to cut a file that
// is mapped, the mapping goes, unless somebody still holds a slice of it.
// Called with mu held.
func (f *file) beforeCut() {
	if !locked {
		return
	}
	for m := f.m.Load(); m != nil; m = m.prev {
		if m.region.lent.Load() || m.region.pins.Load() > 1 {
			return
		}
	}
	f.unpublish()
}

// unpublish ends the mappings of a File that is being closed. Called with mu held.
func (f *file) unpublish() {
	for m := f.m.Swap(nil); m != nil; m = m.prev {
		m.region.revoke()
	}
}
