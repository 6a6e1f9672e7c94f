package pages

import (
	"math"
	"time"
)

// The first mapped write to a page after each Sync is a fault, and some faults cost more than a pwrite.
// Prefaulting a block of pages in one call is far cheaper. So the writes of a block go through pwrite
// until they have taken as long as prefaulting it takes. Both are measured.

// Times reports whether the next system call is to be timed, for SetWrite.
func (p *Pages) Times() bool {
	state := p.state.Load()
	return state&recorded != 0 && state>>callsShift%LookEvery == 0
}

// SetWrite records what a write of n bytes by system call has taken.
func SetWrite(n int, took time.Duration) {
	if n <= PageSize {
		writePrice.measure(int64(took)-int64(n)/64, 1)
	} else {
		writePage.measure(int64(took)-callPrice.now(), int64(n)>>PageBits)
	}
}

// Prefault reports whether the blocks of n bytes at off are prefaulted now: enough writes were counted in each,
// and the account pays.
func (p *Pages) Prefault(h Host, off int64, n int) bool {
	t, end := p.table.Load(), off+int64(n)
	if t == nil {
		if !Eager {
			return false
		}
		t = p.begin()
	}
	blocks, price := (end-1)>>BlockBits-off>>BlockBits+1, prefaultPrice.now()
	if !Eager && !t.wroteEnough(off, end) {
		return false
	}
	if needs := price * blocks; !affords(needs) {
		if needs < accountMax { // else it would wait for ever
			waits.Store(waitLooks)
		}
		return false
	}
	if first := off >> BlockBits; t.vain.Load() > 0 && t.unprovable(first, h.Size(off))&blockMask(first, off, end) != 0 {
		return false
	}
	waits.Store(0)
	took, blocks := h.Prefault(off, end)
	if blocks > 0 {
		spend(prefaultPrice.measure(int64(took), blocks))
		return true
	}
	spend(min(int64(took), 2*price))
	for block := off >> BlockBits; block<<BlockBits < end; block++ { // again after more writes
		if w := t.word(uint64(block)); w != nil {
			w.And(^uint64(writesMax << writesShift))
		}
	}
	return false
}

// wroteEnough reports whether the writes of each block from off to end have taken as long as prefaulting it takes.
func (t *table) wroteEnough(off, end int64) bool {
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w := t.word(uint64(block))
		if w == nil {
			return false
		}
		mask, old := blockMask(block, off, end), w.Load()
		writes := int64(old >> writesShift & writesMax) // no more than writesMax are counted
		if old>>prefaultedShift&mask != mask && writes < writesMax && writes*writePrice.now() < prefaultPrice.now() {
			return false
		}
	}
	return true
}

// Writes counts the mapped writes of a part of a file. It is used with that part locked.
type Writes struct {
	n     uint32 // since the last one that was timed,
	size  uint32 // and their sizes, from that of start on
	start uint32 // its first four bits are another number each time, so that no period of a program's is missed
}

// TimeEvery is the number of mapped writes, of less than a page each, from one that is timed to the next at
// most. Without timing, writes to pages that are written back meanwhile stay page faults.
const TimeEvery = 32

// size is what a write of n bytes counts as: one that may be so many page faults.
func size(n int) uint32 { return 1 + 4*uint32(n>>PageBits) }

// Times reports whether the next mapped write, of n bytes, is to be timed.
func (w *Writes) Times(n int) bool { return w.size+size(n) >= TimeEvery }

// Count counts a mapped write of n bytes, and reports whether it is to be timed, for Timed.
func (w *Writes) Count(n int) (timed bool) {
	w.n++
	w.size += size(n)
	return w.size >= TimeEvery
}

// Timed judges a mapped write of n bytes that was timed, and counts for those that were not. One that took
// longer than a system call was a page fault. If the account is far below zero by then, another process has
// had the file written back, which protects its pages. So no page counts as prefaulted any more. One that took
// longer than any page fault has waited for a processor, and tells nothing.
func (p *Pages) Timed(w *Writes, n int, took time.Duration) {
	stands, sizes := w.n, w.size
	w.start = w.start*1664525 + 1013904223 // a linear congruence: no period of a program's is that of these
	w.n, w.size = 0, w.start>>28
	call, bytes := callPrice.now(), int64(n)/64 // what a system call would have taken
	if n <= PageSize {
		call = max(call, writePrice.usual.Load())
	} else {
		bytes = writePage.bytes(int64(n))
	}
	fault := 16 * call * (1 + int64(n)>>PageBits) // no longer takes a fault of each page
	if int64(took) > 4*fault {
		return
	}
	saved := max(call+bytes-int64(took), -fault)
	if saved > 0 {
		stands = min(stands, sizes/size(n)) // shorter ones have saved less
	}
	if saved *= int64(stands); saved >= 0 {
		earn(saved)
		p.begin().saved.Add(stands)
		return
	}
	if !affords(-accountStart / 2) {
		p.Synced(0, math.MaxInt64)
	}
	spend(-saved * 3 / 2) // more than that, since few writes are timed, and the others may have been worse
}
