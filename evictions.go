package mmapfile

import (
	"sync/atomic"
	"time"
)

// evictions has all Files forget what they know of their pages once the process
// has had major faults: it came back to pages that the system had taken away.
var evictions struct {
	gen    atomic.Uint32 // what is known is void once it has moved
	faults atomic.Int64  // major faults of the process, as last seen
	last   atomic.Int64  // when gen moved, in nanoseconds since started
	ticked atomic.Int64  // when the timer last looked for them; 0 if there is none
}

var started = time.Now()

// evictBlind is evictPause if the system does not count major faults.
const evictBlind = 10 * evictTick

// watchEvictions looks for them as long as anything is mapped. No goroutine waits for that.
// If the last look is long overdue, its timer was that of a test with a clock of its own.
func watchEvictions() {
	now, last := int64(time.Since(started)), evictions.ticked.Load()
	if (last == 0 || now-last > 3*int64(evictTick)) && evictions.ticked.CompareAndSwap(last, max(now, 1)) {
		faults, _ := majorFaults()
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

// checkEvictions moves gen on if there were major faults since the last time, but not
// twice in evictPause.
func checkEvictions() {
	if evictions.ticked.Load() == 0 {
		return // nothing is mapped
	}
	faults, ok := majorFaults()
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
