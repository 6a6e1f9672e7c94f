package pages

import (
	"sync/atomic"
	"time"
)

// Process is what the package needs to know of the process that runs it. Package file sets it.
type Process interface {
	MajorFaults() (n int64, ok bool) // so far; ok is false if the system does not count them
	Now() time.Duration              // since some moment
	After(d time.Duration, f func()) // calls f later
}

// OfProcess is the Process.
var OfProcess Process

// evictions makes all files forget what they know of their pages once the process has had
// major faults. Then it accessed pages that the system had evicted.
var evictions struct {
	faults atomic.Int64 // major faults of the process, as last seen
	looked atomic.Int64 // when they were last looked for
	ticked atomic.Int64 // when the timer last looked for them; 0 if there is none
	last   atomic.Int64 // when pages were last forgotten
}

// Majors counts the major faults that were noticed.
var Majors atomic.Uint64

// held is the number of tests for which nothing is forgotten.
var held atomic.Int32

// Hold makes no file forget its pages until release is called. It is for tests.
func Hold() (release func()) {
	held.Add(1)
	return func() { held.Add(-1) }
}

// Evict makes all files forget their pages.
func Evict() { epoch.Add(2) }

// Evictions returns a number that changes when what is known of pages becomes void.
func Evictions() uint32 { return epoch.Load() >> 1 }

// Watch looks for evictions while mapped returns true. It needs no goroutine. If the last
// look is long overdue, its timer was that of a test with a clock of its own.
func Watch(mapped func() bool) {
	now, last := int64(OfProcess.Now()), evictions.ticked.Load()
	if (last == 0 || now-last > 3*int64(evictTick)) && evictions.ticked.CompareAndSwap(last, max(now, 1)) {
		faults, _ := OfProcess.MajorFaults()
		evictions.faults.Store(faults)
		OfProcess.After(evictTick, func() { tick(mapped) })
	}
}

func tick(mapped func() bool) {
	if mapped() {
		evictions.ticked.Store(max(int64(OfProcess.Now()), 1))
		Look()
		OfProcess.After(evictTick, func() { tick(mapped) })
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
	if evictions.ticked.Load() == 0 || held.Load() > 0 {
		return // nothing is mapped
	}
	last, now := evictions.looked.Load(), int64(OfProcess.Now())
	if now-last < int64(evictPause) || !evictions.looked.CompareAndSwap(last, now) {
		return
	}
	faults, ok := OfProcess.MajorFaults()
	known := evictions.faults.Swap(faults)
	if ok && faults == known || !ok && now-evictions.last.Load() < int64(evictBlind) {
		return
	}
	Majors.Add(uint64(max(faults-known, 0)))
	evictions.last.Store(now)
	Evict()
}
