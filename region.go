package mmapfile

import (
	"os"
	"runtime"
	"sync/atomic"
)

// region owns the address range of a mapping. It has no reference to the File, so that it
// can be the argument of the File's cleanup.
type region struct {
	data    []byte
	shown   []byte // the part of data that is mapped: all, or less after a truncation if closeNeedsLock
	rest    []byte // what is reserved after shown then
	state   atomic.Uint32
	counted bool         // as a mapped File in Stats
	exposed atomic.Bool  // callers may hold its memory
	pins    atomic.Int64 // if closeNeedsLock: calls of View inside
	cleanup runtime.Cleanup
}

// The states of a region.
const (
	regionMapped   = iota
	regionReserved // inaccessible, and counted in reserved
	regionGone
)

// newRegion returns the region of data, which is unmapped once owner is unreachable.
func newRegion[T any](owner *T, data []byte) *region {
	r := &region{data: data, shown: data}
	r.pins.Store(1)
	ranges.Add(1)
	rangeBytes.Add(int64(len(data)))
	r.cleanup = runtime.AddCleanup(owner, (*region).free, r)
	return r
}

// revoke ends the use of the range and releases the file. The range becomes inaccessible
// at once for every goroutine. A late access faults, and never reaches memory of another
// owner. If the platform cannot do that (closeNeedsLock), the range is unmapped with its last pin.
// The File's lock guarantees that no call uses it then.
func (r *region) revoke() {
	if closeNeedsLock {
		r.unpin()
		return
	}
	if !r.state.CompareAndSwap(regionMapped, regionReserved) {
		return
	}
	r.uncount()
	reserve(r.data, nil)
	n, bytes := reserved.Add(1), reservedBytes.Add(int64(len(r.data)))
	limit, _ := bounds()
	if n-kept.Load() > reservedGC || bytes-keptBytes.Load() > limit/2 {
		go collect()
	}
}

// free unmaps the range. No call can be inside: its File is unreachable, or its lock is
// held.
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
		capTo(&kept, reserved.Add(-1))
		capTo(&keptBytes, reservedBytes.Add(-size))
	}
}

// countFile makes Stats count the File of the region while it is mapped.
func (r *region) countFile() {
	r.counted = true
	stats.files.Add(1)
}

func (r *region) uncount() {
	if r.counted {
		stats.files.Add(-1)
	}
}

// abandon unmaps the range of a mapping that was replaced, if no caller holds a slice of
// it. The File's lock, which is held, keeps calls out.
func (r *region) abandon() bool {
	if !closeNeedsLock || r.exposed.Load() || r.pins.Load() > 1 {
		return false
	}
	r.cleanup.Stop() // it would keep r until the File, which is in use here, is closed
	r.unpin()
	return true
}

// unpin unmaps the range with the last pin, one of which is the File's.
func (r *region) unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// hide replaces the mapping of the range by a reservation, so that an access faults.
func (r *region) hide() {
	if len(r.shown) > 0 { // else it was hidden before
		r.shown, r.rest = nil, reserve(r.data, r.rest)
	}
}

// show maps the first length bytes of inner to the hidden range, and returns them. The rest
// of the range stays reserved.
func (r *region) show(inner *os.File, length int, write bool) []byte {
	if length == 0 || len(r.rest) != len(r.data) {
		return nil
	}
	r.shown, r.rest, _ = mapReserved(inner, r.rest, length, write)
	return r.shown[:len(r.shown):len(r.shown)]
}
