package mmapfile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// region owns the address range of a mapping. It does not lead back to the
// File, so that it can be the argument of the File's cleanup.
type region struct {
	data    []byte
	shown   []byte // the part of data that is mapped: all, but less after a cut where locked
	rest    []byte // and what is reserved behind it then
	state   atomic.Uint32
	counted bool         // as a mapped File in Stats
	lent    atomic.Bool  // Bytes has handed out slices
	pins    atomic.Int64 // where locked: calls of View inside
	cleanup runtime.Cleanup
}

// The states of a region.
const (
	regionMapped   = iota
	regionReserved // inaccessible, and counted in reserved
	regionGone
)

// The system allows some 65,530 ranges of memory in all (vm.max_map_count), and
// Go's own heap dies where there is none left. So past rangesMax nothing is
// mapped unasked, and system calls serve those files; Bytes and View still get
// theirs up to twice that. Address space is scarce on 32 bits, hence the same
// bound in bytes, and four times that for Bytes and View: 2 GiB there.
//
// Ranges of closed Files that a call may still be inside count too: they
// stay reserved until their File is unreachable. For each reservedGC of them that
// have come we ask for a collection, and Bytes and View wait for one.
const (
	rangesMax  = 16 << 10
	bytesMax   = mapLimit
	bytesAsked = 4 * min(bytesMax, 1<<60)
	reservedGC = 8 << 10
)

var (
	ranges, rangeBytes      atomic.Int64 // all that are mapped or reserved
	reserved, reservedBytes atomic.Int64 // those of closed Files
	kept, keptBytes         atomic.Int64 // of those, what the last collection left: still in use

	collecting sync.Mutex
)

// roomFor reports whether another range of size bytes may be mapped; asked for
// by Bytes or View, it makes room if it can.
func roomFor(size int64, asked bool) bool {
	full := func() bool { return ranges.Load() >= rangesMax || rangeBytes.Load()+size > bytesMax }
	if !full() {
		return true
	}
	if !asked {
		if reserved.Load() > kept.Load() {
			go collect()
		}
		return false
	}
	collecting.Lock() // and not another collection beside one: it may free what is needed
	if full() && reserved.Load() > kept.Load() {
		collectLocked()
	}
	collecting.Unlock()
	for i := 0; i < 1000 && full() && reserved.Load() > 0; i++ { // the cleanups run on a goroutine of their own
		runtime.Gosched()
	}
	return ranges.Load() < 2*rangesMax && rangeBytes.Load()+size <= bytesAsked
}

// collect has closed Files that nobody uses give their ranges back, unless
// that is being done.
func collect() {
	if collecting.TryLock() {
		collectLocked()
		collecting.Unlock()
	}
}

func collectLocked() {
	runtime.GC()
	kept.Store(reserved.Load())
	keptBytes.Store(reservedBytes.Load())
}

func newRegion(f *file, data []byte) *region {
	r := &region{data: data, shown: data}
	r.pins.Store(1)
	ranges.Add(1)
	rangeBytes.Add(int64(len(data)))
	r.cleanup = runtime.AddCleanup(f, (*region).free, r)
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
	r.uncount()
	reserve(r.data)
	n, bytes := reserved.Add(1), reservedBytes.Add(int64(len(r.data)))
	if n-kept.Load() > reservedGC || bytes-keptBytes.Load() > bytesMax/2 {
		go collect()
	}
}

// free gives the range back. No call can be inside: its File is unreachable, or
// its lock is held.
func (r *region) free() {
	was := r.state.Swap(regionGone)
	if was == regionGone {
		return
	}
	if was == regionMapped {
		r.uncount()
	}
	unmap(r.shown, r.rest)
	size := int64(len(r.data))
	ranges.Add(-1)
	rangeBytes.Add(-size)
	if was == regionReserved {
		lower(&kept, reserved.Add(-1))
		lower(&keptBytes, reservedBytes.Add(-size))
	}
}

// countFile has Stats count the File of the region for as long as that is mapped.
func (r *region) countFile() {
	r.counted = true
	stats.files.Add(1)
}

func (r *region) uncount() {
	if r.counted {
		stats.files.Add(-1)
	}
}

// lower makes kept no more than what there is: cleanups, which call it, run
// after the collection that found them was counted.
func lower(kept *atomic.Int64, now int64) {
	if kept.Load() > now {
		kept.Store(now)
	}
}

// abandon gives back the range of a mapping that another has taken the place
// of, where that can be: nobody holds a slice of it, and the File's lock, which
// is held, keeps calls out.
func (r *region) abandon() bool {
	if !locked || r.lent.Load() || r.pins.Load() > 1 {
		return false
	}
	r.cleanup.Stop() // it would keep r for as long as the File, which is in use here, is open
	r.unpin()
	return true
}

// unpin gives the range back with the last pin, one of which is the File's.
func (r *region) unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// unpublish ends the mappings of a File. Called with mu held.
func (f *file) unpublish() {
	for m := f.m.Swap(nil); m != nil; m = m.prev {
		m.region.revoke()
	}
}
