// Package evictions notices that the system has taken pages of files away. Then what was known of pages in
// memory is void: it belongs to a generation, which ends.
package evictions

import (
	"sync/atomic"
	"time"
)

// These times can be tuned. The eager policy of the tests has the shortest ones.
var (
	Pause = 20 * time.Millisecond  // least time between two looks, and so between evictions: getrusage takes 530 ns
	Tick  = 250 * time.Millisecond // from one look to the next if all reads are mapped: evicted-random
	Blind = 10 * time.Second       // between evictions if the system does not count major faults
)

// Process is what the package needs to know of the process that runs it. Package file sets it.
type Process interface {
	MajorFaults() (n int64, ok bool) // so far; ok is false if the system does not count them
	Now() time.Duration              // since some moment
	After(d time.Duration, f func()) // calls f later
}

// OfProcess is the Process.
var OfProcess Process

var generation atomic.Uint32

// state is of looks for major faults: the process had some because it accessed pages that the system had evicted.
var state struct {
	faults atomic.Int64 // major faults of the process, as last seen
	looked atomic.Int64 // when they were last looked for
	ticked atomic.Int64 // when the timer last looked for them; 0 if there is none
	last   atomic.Int64 // when the generation began
}

// Majors counts the major faults that were noticed.
var Majors atomic.Uint64

// held is the number of tests for which no generation ends.
var held atomic.Int32

// Reset begins anew with another Process. It is for tests.
func Reset(p Process) {
	OfProcess = p
	state.faults.Store(0)
	state.looked.Store(0)
	state.ticked.Store(0)
	state.last.Store(int64(p.Now()))
}

// Hold keeps the generation until release is called. It is for tests.
func Hold() (release func()) {
	held.Add(1)
	return func() { held.Add(-1) }
}

// Evict ends the generation.
func Evict() { generation.Add(1) }

// Generation returns a number that changes when what is known of pages becomes void.
func Generation() uint32 { return generation.Load() }

// Watch looks for evictions while mapped returns true. It needs no goroutine. If the last
// look is long overdue, its timer was that of a test with a clock of its own.
func Watch(mapped func() bool) {
	now, last := int64(OfProcess.Now()), state.ticked.Load()
	if (last == 0 || now-last > 3*int64(Tick)) && state.ticked.CompareAndSwap(last, max(now, 1)) {
		faults, _ := OfProcess.MajorFaults()
		state.faults.Store(faults)
		OfProcess.After(Tick, func() { onTick(mapped) })
	}
}

func onTick(mapped func() bool) {
	if mapped() {
		state.ticked.Store(max(int64(OfProcess.Now()), 1))
		Look()
		OfProcess.After(Tick, func() { onTick(mapped) })
		return
	}
	state.ticked.Store(0)
	if mapped() {
		Watch(mapped)
	}
}

// Look ends the generation if there were major faults since the last look.
// A look within Pause of the last one does nothing.
func Look() {
	if state.ticked.Load() == 0 || held.Load() > 0 {
		return // nothing is mapped
	}
	last, now := state.looked.Load(), int64(OfProcess.Now())
	if now-last < int64(Pause) || !state.looked.CompareAndSwap(last, now) {
		return
	}
	faults, ok := OfProcess.MajorFaults()
	known := state.faults.Swap(faults)
	if ok && faults == known || !ok && now-state.last.Load() < int64(Blind) {
		return
	}
	Majors.Add(uint64(max(faults-known, 0)))
	state.last.Store(now)
	Evict()
}
