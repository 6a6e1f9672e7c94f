package vm

import (
	"os"
	"runtime"
	"sync/atomic"
)

// Range owns the address range of a mapping. It has no reference to the File, so that it can be
// the argument of the File's cleanup. Its methods are called with the File's lock held, which Close
// takes, except for Unpin.
type Range struct {
	memory  Platform // that of its mapping, also in a cleanup: tests replace Memory
	Data    []byte
	shown   []byte // the part of Data that is mapped: all, or less after a truncation if CloseNeedsLock
	rest    []byte // what is reserved after shown then
	state   atomic.Uint32
	counted bool         // as a mapped File in Stats
	exposed atomic.Bool  // callers may hold its memory
	pins    atomic.Int64 // if CloseNeedsLock: calls of View inside
	cleanup runtime.Cleanup
}

// The states of a Range.
const (
	mapped  = iota
	revoked // inaccessible, and counted in reserved
	gone
)

// New returns the Range of data, which is unmapped once owner is unreachable.
func New[T any](owner *T, data []byte) *Range {
	r := &Range{memory: Memory, Data: data, shown: data}
	r.pins.Store(1)
	ranges.Add(1)
	rangeBytes.Add(int64(len(data)))
	r.cleanup = runtime.AddCleanup(owner, (*Range).free, r)
	return r
}

// Revoke ends the use of the range and releases the file. The range becomes inaccessible
// at once for every goroutine. A late access faults, and never reaches memory of another
// owner. If the platform cannot do that (CloseNeedsLock), the range is unmapped with its last pin.
// The File's lock guarantees that no call uses it then.
func (r *Range) Revoke() {
	if CloseNeedsLock {
		r.Unpin()
		return
	}
	if !r.state.CompareAndSwap(mapped, revoked) {
		return
	}
	r.uncount()
	r.memory.Reserve(r.Data, nil)
	n, bytes := reserved.Add(1), reservedBytes.Add(int64(len(r.Data)))
	limit, _ := bounds()
	if n-kept.Load() > reservedGC || bytes-keptBytes.Load() > limit/2 {
		go collect()
	}
}

// free unmaps the range. No call can be inside: its File is unreachable, or its lock is
// held.
func (r *Range) free() {
	was := r.state.Swap(gone)
	if was == gone {
		return
	}
	if was == mapped {
		r.uncount()
	}
	r.memory.Unmap(r.shown, r.rest)
	size := int64(len(r.Data))
	ranges.Add(-1)
	rangeBytes.Add(-size)
	if was == revoked {
		capTo(&kept, reserved.Add(-1))
		capTo(&keptBytes, reservedBytes.Add(-size))
	}
}

// CountFile makes Stats count the File of the range while it is mapped.
func (r *Range) CountFile() {
	r.counted = true
	files.Add(1)
}

func (r *Range) uncount() {
	if r.counted {
		files.Add(-1)
	}
}

// Abandon unmaps the range of a mapping that was replaced, if no caller holds a slice of
// it. The File's lock, which is held, keeps calls out.
func (r *Range) Abandon() bool {
	if !CloseNeedsLock || r.exposed.Load() || r.pins.Load() > 1 {
		return false
	}
	r.cleanup.Stop() // it would keep r until the File, which is in use here, is closed
	r.Unpin()
	return true
}

// Expose notes that callers may hold memory of the range until Close.
func (r *Range) Expose() { r.exposed.Store(true) }

// Pin keeps the range until Unpin, if CloseNeedsLock.
func (r *Range) Pin() { r.pins.Add(1) }

// Unpin unmaps the range with the last pin, one of which is the File's.
func (r *Range) Unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// Hide replaces the mapping of the range by a reservation, so that an access faults.
func (r *Range) Hide() {
	if len(r.shown) > 0 { // else it was hidden before
		r.shown, r.rest = nil, r.memory.Reserve(r.Data, r.rest)
	}
}

// Show maps the first length bytes of inner to the hidden range, and returns them. The rest
// of the range stays reserved.
func (r *Range) Show(inner *os.File, length int, write bool) []byte {
	if length == 0 || len(r.rest) != len(r.Data) {
		return nil
	}
	r.shown, r.rest, _ = r.memory.MapReserved(inner, r.rest, length, write)
	return r.shown[:len(r.shown):len(r.shown)]
}
