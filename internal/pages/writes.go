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
	return n <= timedMax && p.state.Load()>>offsetBits%timedEvery == 0 && p.table.Load() != nil
}

// SetSaving records what a small pwrite has taken, which a mapped write would have saved.
func (p *Pages) SetSaving(took time.Duration) {
	if t := p.table.Load(); t != nil {
		old := int64(t.writeSaving())
		t.saving.Store(uint32(old + (min(max(int64(took), savingMin), savingMax)-old)/4))
	}
}

// Prefaults counts a write of n bytes at off in its blocks, and reports whether prefaulting
// them pays by now.
func (p *Pages) Prefaults(off int64, n int) bool {
	t, end := p.begin(), off+int64(n)
	pays, price := true, t.blockPrice()
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
		saved := min(old>>savedShift&savedMax+weight(part), savedMax)
		w.CompareAndSwap(old, old&^(savedMax<<savedShift)|saved<<savedShift)
		if !l.written.Load() {
			l.written.Store(true)
		}
		pays = pays && (saved >= price || off-block<<BlockBits < int64(n) && p.continuesRun(block, n, price))
	}
	return pays
}

// blockPrice returns the cost of prefaulting a block, in the unit of the saved bits. The
// cost doubles for each loss that gains have not offset.
func (r *record) blockPrice() uint64 {
	price := uint64(r.price.Load())
	if price == 0 {
		price = firstPrice
	}
	return min(max(price/r.writeSaving(), 1)<<r.losses.Load(), savedMax)
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
	old := int64(t.price.Load())
	if old == 0 {
		old = firstPrice
	}
	block := int64(took) / ((n-1)>>BlockBits + 1)
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
// than the writes saved, whose number writes returns.
func (p *Pages) Judge(writes func() int64) {
	t := p.table.Load()
	if t == nil {
		return
	}
	spent := t.spent.Swap(0)
	if spent == 0 {
		return
	}
	if saved := writes() * int64(t.writeSaving()); saved < spent {
		t.lost()
	} else {
		t.gained()
	}
}

// Slow judges a mapped write of n bytes that was timed. It reports whether the write was
// slower than a system call, and so a page fault: the file was written back meanwhile.
func (p *Pages) Slow(n int, took time.Duration) bool {
	t := p.begin()
	if uint64(took) < 2*t.writeSaving()*weight(int64(n)) {
		t.gained()
		return false
	}
	return true
}

// Unprefault makes writes go to the kernel again, until they have paid four times the price.
func (p *Pages) Unprefault() {
	t := p.begin()
	t.lost()
	t.lost() // twice, since all of it must be prefaulted again
	p.Synced(0, math.MaxInt64)
}
