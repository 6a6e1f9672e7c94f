package pages

import (
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// evictions makes all files forget what they know of their pages once the process has had
// major faults. Then it accessed pages that the system had evicted.
var evictions struct {
	faults atomic.Int64 // major faults of the process, as last seen
	looked atomic.Int64 // when they were last looked for, in nanoseconds since started
	ticked atomic.Int64 // when the timer last looked for them; 0 if there is none
	last   atomic.Int64 // of the last eviction
}

var started = time.Now()

// Majors counts the major faults that were noticed.
var Majors atomic.Uint64

// holds is the number of tests for which nothing is forgotten.
var holds atomic.Int32

// Hold makes no file forget its pages until release is called. It is for tests.
func Hold() (release func()) {
	holds.Add(1)
	return func() { holds.Add(-1) }
}

// Evict makes all files forget their pages.
func Evict() { epoch.Add(2) }

// Evictions returns a number that changes when what is known of pages becomes void.
func Evictions() uint32 { return epoch.Load() >> 1 }

// Watch looks for evictions while mapped returns true. It needs no goroutine. If the last
// look is long overdue, its timer was that of a test with a clock of its own.
func Watch(mapped func() bool) {
	now, last := int64(time.Since(started)), evictions.ticked.Load()
	if (last == 0 || now-last > 3*int64(evictTick)) && evictions.ticked.CompareAndSwap(last, max(now, 1)) {
		faults, _ := sys.MajorFaults()
		evictions.faults.Store(faults)
		time.AfterFunc(evictTick, func() { tick(mapped) })
	}
}

func tick(mapped func() bool) {
	if mapped() {
		evictions.ticked.Store(max(int64(time.Since(started)), 1))
		Look()
		time.AfterFunc(evictTick, func() { tick(mapped) })
		return
	}
	evictions.ticked.Store(0)
	if mapped() {
		Watch(mapped)
	}
}

// Look makes all files forget their pages if there were major faults since the last look.
// A look within evictPause of the last one does nothing.
func Look() {
	if evictions.ticked.Load() == 0 || holds.Load() > 0 {
		return // nothing is mapped
	}
	last, now := evictions.looked.Load(), int64(time.Since(started))
	if now-last < int64(evictPause) || !evictions.looked.CompareAndSwap(last, now) {
		return
	}
	faults, ok := sys.MajorFaults()
	known := evictions.faults.Swap(faults)
	if ok && faults == known || !ok && now-evictions.last.Load() < int64(evictBlind) {
		return
	}
	Majors.Add(uint64(max(faults-known, 0)))
	evictions.last.Store(now)
	Evict()
}
