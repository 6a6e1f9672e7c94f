package pages

import (
	"math"
	"time"
)

// The first mapped write to a page after each Sync is a fault, and some faults cost more
// than a pwrite. Prefaulting a block of pages in one call is far cheaper. So the writes of
// a block go through pwrite until mapped ones would have saved the cost of prefaulting.
// Both the cost and the saving are measured.

// writeSaving returns the nanoseconds that a small mapped write saves.
func (r *record) writeSaving() uint64 { return max(uint64(r.saving.Load()), savingMin) }

// Times reports whether the next pwrite, of n bytes, is to be timed for SetSaving.
func (p *Pages) Times(n int) bool {
	state := p.state.Load()
	return n <= timedMax && state&recorded != 0 && state>>callsShift%timedEvery == 0
}

// SetSaving records what a small pwrite has taken, which a mapped write would have saved.
func (p *Pages) SetSaving(took time.Duration) {
	if t := p.table.Load(); t != nil {
		old := int64(t.writeSaving())
		t.saving.Store(uint32(old + (min(max(int64(took), savingMin), savingMax)-old)/4))
	}
}

// Prefaults counts a write of n bytes at off in its blocks if it is recorded, and reports whether
// prefaulting them pays by now.
func (p *Pages) Prefaults(off int64, n int) bool {
	if p.state.Load()&recorded == 0 {
		return false
	}
	t, end := p.begin(), off+int64(n)
	stands := uint64(t.stands.Load())
	enough, own, price, ownPrice := true, true, t.blockPrice(), t.ownPrice()
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w, l := p.grow(uint64(block))
		if w == nil {
			return false
		}
		mask, old := blockMask(block, off, end), w.Load()
		if old>>prefaultedShift&mask == mask {
			continue
		}
		part := min(end, (block+1)<<BlockBits) - max(off, block<<BlockBits)
		saved := min(old>>savedShift&savedMax+weight(part)*stands, savedMax)
		w.CompareAndSwap(old, old&^(savedMax<<savedShift)|saved<<savedShift)
		if !l.written.Load() {
			l.written.Store(true)
		}
		enough = enough && (saved >= price || off-block<<BlockBits < int64(n) && p.continuesRun(block, n, price))
		own = own && saved >= min(ownPrice*weight(part), savedMax)
	}
	if !enough {
		return false
	}
	if own || affords(int64(t.prefaultPrice())*((end-1)>>BlockBits-off>>BlockBits+1)) {
		return true
	}
	if !t.waited.Load() {
		t.waited.Store(true)
	}
	return false
}

// prefaultPrice returns the nanoseconds that prefaulting a block takes.
func (r *record) prefaultPrice() uint64 {
	if price := uint64(r.price.Load()); price > 0 {
		return price
	}
	return firstPrice
}

// blockPrice returns the cost of prefaulting a block, in the unit of the saved bits. The
// cost doubles for each loss that gains have not offset.
func (r *record) blockPrice() uint64 {
	return min(max(r.prefaultPrice()/r.writeSaving(), 1)<<r.losses.Load(), savedMax)
}

// ownPrice returns how many calls of a block have taken prefaultOwn times what prefaulting it
// costs. A call has taken at least what is measured of one, which may be less than savingMin.
// How many bytes it moved is not remembered, so larger ones are not believed to have taken longer.
func (r *record) ownPrice() uint64 {
	took := uint64(callNow())
	if saving := uint64(r.saving.Load()); saving > savingMin {
		took = saving
	}
	return (r.prefaultPrice() << r.losses.Load()) * prefaultOwn / took
}

// continuesRun predicts whether writes of n bytes in order will reach block and save the cost of
// prefaulting it. They must have done so in the block before.
func (p *Pages) continuesRun(block int64, n int, price uint64) bool {
	if block == 0 || weight(int64(n))<<BlockBits/uint64(n) < price+price/4 {
		return false
	}
	w := p.word(uint64(block - 1))
	return w != nil && (w.Load()>>prefaultedShift&seen == seen || w.Load()>>savedShift&savedMax >= price)
}

// NotePrefaulted records that the pages of n bytes at off are prefaulted, and then that the
// leaf has some. A Sync between the two leaves them to the next one.
func (p *Pages) NotePrefaulted(off, n int64) {
	p.Note(Prefaulted, off, n)
	for block := off >> BlockBits; block<<BlockBits < off+n; block++ {
		if _, l := p.grow(uint64(block)); l != nil && !l.written.Load() {
			l.written.Store(true)
		}
	}
}

// SetPrice records what prefaulting n bytes has taken. One that waited for the disk is not
// typical.
func (p *Pages) SetPrice(n int64, took time.Duration) {
	t := p.begin()
	t.spent.Add(int64(took))
	old := int64(t.prefaultPrice())
	block := int64(took) / ((n-1)>>BlockBits + 1)
	budget.Add(-min(int64(took), 8*old*((n-1)>>BlockBits+1)))
	t.price.Store(uint32(old + (min(block, 8*old)-old)/4))
}

// Failed records that the blocks from off to end could not be prefaulted. They are tried
// again after more writes.
func (p *Pages) Failed(off, end int64) {
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		if w := p.word(uint64(block)); w != nil {
			w.And(^uint64(savedMax << savedShift))
		}
	}
	p.begin().lost()
}

// lost records that prefaulting has not led to mapped writes that save.
func (r *record) lost() {
	r.losses.Store(min(r.losses.Load()+1, savedBits))
	r.gains.Store(0)
}

// gained records a timed write that was fast, or a period that saved. Sixteen gains offset
// a loss.
func (r *record) gained() {
	if losses := r.losses.Load(); losses > 0 && r.gains.Add(1)%16 == 0 {
		r.losses.Store(losses - 1)
	}
}

// Judge ends a period of mapped writes at a Sync. It was a loss if prefaulting took longer
// than the writes saved, whose number writes returns. That tells nothing of a period in which
// blocks had to wait for the budget.
func (p *Pages) Judge(writes func() int64) {
	t := p.table.Load()
	if t == nil {
		return
	}
	spent, waited := t.spent.Swap(0), t.waited.Swap(false)
	if spent == 0 {
		return
	}
	if saved := writes() * int64(t.writeSaving()); saved >= spent {
		t.gained()
	} else if !waited {
		t.lost()
	}
}

// Writes counts the mapped writes of a part of a file. It is used with that part locked.
type Writes struct {
	n      uint32 // in all
	taken  uint32 // of these, up to the last Take
	slow   uint32 // timed ones in a row that were page faults
	denied uint32 // writes that might not begin a period
}

// Count counts a mapped write, and reports whether it is to be timed.
func (w *Writes) Count() (timed bool) {
	w.n++
	return w.n%TimeEvery == 0
}

// TimeEvery is the number of mapped writes from one that is timed to the next. Without timing,
// writes to pages that are written back meanwhile stay page faults.
const TimeEvery = 32

// Take returns the number of mapped writes since the last call.
func (w *Writes) Take() int64 {
	n := w.n - w.taken
	w.taken = w.n
	return int64(n)
}

// Timed judges a mapped write of n bytes that was timed. One that is slower than a system call
// was a page fault. Two in a row mean that another process had the file written back, which
// protects its pages. Then no page counts as prefaulted.
func (p *Pages) Timed(w *Writes, n int, took time.Duration) {
	t := p.begin()
	if uint64(took) < 2*t.writeSaving()*weight(int64(n)) {
		earned(TimeEvery * callNow())
		t.gained()
		w.slow = 0
		return
	}
	if w.slow++; w.slow == 2 {
		w.slow = 0
		p.unprefault()
	}
}

// unprefault makes writes go to the kernel again, until they have paid four times the price.
func (p *Pages) unprefault() {
	t := p.begin()
	t.lost()
	t.lost() // twice, since all of it must be prefaulted again
	p.Synced(0, math.MaxInt64)
}
