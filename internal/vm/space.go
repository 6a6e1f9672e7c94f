package vm

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// The system allows some 65,530 ranges of memory in all (vm.max_map_count), and Go's own
// heap fails if none is left. So past rangesMax, system calls serve further files. Bytes
// and View still get a mapping up to twice that.
//
// Address space is scarce on 32 bits. Hence the same bound applies in bytes, and four times
// that for Bytes and View: 2 GiB there. If the process has a limit (RLIMIT_AS), the bounds
// are at most a quarter and a half of it. Go itself takes 1.2 GiB, and dies if its heap
// cannot grow.
//
// Ranges of closed Files count too, if a call may still use them. They stay reserved until
// their File is unreachable. After each reservedGC new ones the package starts a
// collection, and Bytes and View wait for one.
const (
	rangesMax  = 16 << 10
	bytesMax   = MapLimit
	bytesAsked = 4 * min(bytesMax, 1<<60)
	reservedGC = 8 << 10
)

var (
	ranges, rangeBytes      atomic.Int64 // all that are mapped or reserved
	reserved, reservedBytes atomic.Int64 // those of closed Files
	kept, keptBytes         atomic.Int64 // reserved ones that the last collection left: still in use

	space      atomic.Int64 // the process's limit, as of one of the last mappings; 0 before
	mapsMade   atomic.Uint32
	collecting sync.Mutex
)

// bounds returns how many bytes may be mapped or reserved for the hot path, and for Bytes
// and View.
func bounds() (unasked, asked int64) {
	limit := space.Load()
	if limit == 0 {
		return bytesMax, bytesAsked
	}
	return min(bytesMax, limit/4), min(bytesAsked, limit/2)
}

// RoomFor reports whether another range of size bytes may be mapped. If asked, for Bytes or
// View, it makes room if it can.
func RoomFor(size int64, asked bool) bool {
	if asked || mapsMade.Add(1)%16 == 1 {
		space.Store(sys.AddressSpace())
	}
	full := func() bool {
		limit, _ := bounds()
		return ranges.Load() >= rangesMax || rangeBytes.Load()+size > limit
	}
	if !full() {
		return true
	}
	reclaim(asked, func() bool { return !full() })
	_, limit := bounds()
	return asked && ranges.Load() < 2*rangesMax && rangeBytes.Load()+size <= limit
}

// reclaim collects the reservations of closed Files, unless the last collection found all
// of them in use. With wait, it returns when the ranges are unmapped, when enough returns
// true, or 80 ms after the collection. Without wait it returns at once.
func reclaim(wait bool, enough func() bool) {
	if !wait {
		if reserved.Load() > kept.Load() {
			go collect()
		}
		return
	}
	collecting.Lock() // not concurrently with another collection, which may free what is needed
	defer collecting.Unlock()
	if !enough() && reserved.Load() > kept.Load() {
		collectLocked(enough)
	}
}

// Retry calls do. If do fails for lack of address space, Retry collects reservations. With
// wait, it then calls do again until there is enough.
func Retry(wait bool, do func() error) error {
	err := do()
	if err == ErrNoMemory && reserved.Load() > 0 {
		again := func() bool {
			if err == ErrNoMemory {
				err = do()
			}
			return err != ErrNoMemory
		}
		if reclaim(wait, again); wait {
			again() // the last range may be unmapped since
		}
	}
	return err
}

// collect runs a collection that unmaps the ranges of closed Files that are not in use,
// unless one is running.
func collect() {
	if collecting.TryLock() {
		collectLocked(func() bool { return false })
		collecting.Unlock()
	}
}

// collectLocked collects, and waits as reclaim says.
func collectLocked(enough func() bool) {
	runtime.GC()
	kept.Store(reserved.Load())
	keptBytes.Store(reservedBytes.Load())
	// The cleanups run on other goroutines, which may have to wait for a processor.
	for d := 10 * time.Microsecond; d < 50*time.Millisecond && !enough() && reserved.Load() > 0; d *= 2 {
		time.Sleep(d)
	}
}

// capTo limits kept to the present number. Cleanups, which call it, run after the
// collection that found them was counted.
func capTo(kept *atomic.Int64, now int64) {
	if kept.Load() > now {
		kept.Store(now)
	}
}
