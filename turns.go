package mmapfile

import (
	"math/bits"
	"sync"
)

// turns makes writes of one File that overlap come one after the other, as the
// kernel's lock on the inode does for os.File: a page that two goroutines write
// as a whole is either's, never a mixture. Readers take no part, as there.
// Each 64 KiB of the file has one of the locks.
type turns [turnLocks]turn

type turn struct {
	sync.Mutex
	// Under it, for the policy: beside the lock, they cost nothing.
	stores, calls uint32
	saved, missed uint64              // by stores, and where there was none
	spent         uint64              // to make regions ready, for writes anywhere
	next          int                 // where the last write that was no store ended
	_             [lineSize - 48]byte // each in a cache line of its own
}

const (
	turnBits  = 4
	turnLocks = 1 << turnBits
)

// take waits for the turn of a write of n bytes at off. The result, which
// goes to give, has a bit for each lock.
func (t *turns) take(off int64, n int) (held uint16) {
	first, last := off>>regionShift, (off+int64(n)-1)>>regionShift
	if first == last {
		i := turnOf(first)
		t[i].Lock()
		return 1 << i
	}
	if last-first >= 4*turnLocks {
		held = 1<<turnLocks - 1
	}
	for r := first; r <= last && held != 1<<turnLocks-1; r++ {
		held |= 1 << turnOf(r)
	}
	for i := range t { // always in this order
		if held>>i&1 != 0 {
			t[i].Lock()
		}
	}
	return held
}

// turnOf is the lock of a region. Regions at a regular distance have several: two
// goroutines that go through the halves of a file would meet at each step.
func turnOf(region int64) uint32 {
	return uint32(region) * 0x9E3779B1 >> (32 - turnBits) // Knuth's multiplicative hashing
}

// inOneTurn reports whether a write of n bytes at off has one lock, which is that of off.
func inOneTurn(off int64, n int) bool { return (off^(off+int64(n)-1))>>regionShift == 0 }

func (t *turns) of(off int64) *turn { return &t[turnOf(off>>regionShift)] }

// due reports whether the next store is one to be timed.
func (t *turn) due(p *storePolicy) bool { return (t.stores+1)&(p.every.Load()-1) == 0 }

// slot is where a write that holds these locks keeps its counts.
func (t *turns) slot(held uint16) *turn { return &t[bits.TrailingZeros16(held)%turnLocks] }

// store counts a store of n bytes, and reports whether it is one to be timed.
func (t *turn) store(p *storePolicy, n int) bool {
	due := t.due(p)
	t.stores++
	t.saved += uint64(p.saves(n))
	return due
}

// call counts a pwrite of n bytes at off, for which a store would save so much, and
// reports whether it is one to be timed.
func (t *turn) call(off, n int, saves uint32) bool {
	t.next = off + n
	t.calls++
	t.missed += uint64(saves)
	return t.calls%sampleCalls == 0
}

// takeSaved is what stores have saved, and what they would have, since the last
// time. Whoever writes now keeps it for the next, but for the caller, who may hold locks.
func (t *turns) takeSaved(held uint16) (saved, missed uint64) {
	for i := range t {
		if mine := held>>i&1 != 0; mine || t[i].TryLock() {
			saved += t[i].saved
			missed += t[i].missed
			t[i].saved, t[i].missed, t[i].spent = 0, 0, 0
			if !mine {
				t[i].Unlock()
			}
		}
	}
	return saved, missed
}

// mayLose reports whether what was spent has been saved by now, but for a small part
// of what the calls have taken. Of what was saved long ago not more than a little is left.
func (t *turn) mayLose() bool {
	budget := t.saved + t.missed/lossPart
	if budget > budgetMost {
		t.spent = max(t.spent, budget-budgetMost)
	}
	return t.spent <= budget
}

func (t *turns) give(held uint16) {
	for ; held != 0; held &= held - 1 {
		t[bits.TrailingZeros16(held)%turnLocks].Unlock()
	}
}
