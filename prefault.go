package mmapfile

import (
	"errors"
	"math"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// The first mapped write to a page after each Sync is a fault, and some faults cost more
// than a pwrite. Prefaulting a block of pages in one call is far cheaper. So the writes of
// a block go through pwrite until mapped ones would have saved the cost of prefaulting,
// which is measured. Then the block is prefaulted.

// firstPrice is the price of a block in nanoseconds until one is measured.
const firstPrice = 16 * savedWrite

// mapsWrite reports whether a write of n bytes at off goes to the mapping m. It prefaults
// the write's blocks if that pays by now. Called with the range locked.
func (f *file) mapsWrite(m *mapping, off int64, n int) bool {
	p, end := &f.pages, off+int64(n)
	if p.has(prefaultedShift, off, n) {
		return true
	}
	due, price := true, p.blockPrice()
	for block := off >> blockBits; block<<blockBits < end; block++ {
		w, l := p.grow(block)
		if w == nil {
			return false
		}
		mask, old := blockMask(block, off, end), w.Load()
		if old>>prefaultedShift&mask == mask {
			continue
		}
		part := min(end, (block+1)<<blockBits) - max(off, block<<blockBits)
		saved := min(old>>savedShift&savedMost+weight(part), savedMost)
		w.CompareAndSwap(old, old&^(savedMost<<savedShift)|saved<<savedShift)
		if !l.written.Load() {
			l.written.Store(true)
		}
		due = due && (saved >= price || off-block<<blockBits < int64(n) && p.continuesRun(block, n, price))
	}
	return due && f.prefault(m, off, end)
}

// blockPrice returns the cost of prefaulting a block, in the unit of the saved bits. The
// cost doubles for each loss that gains have not offset.
func (p *pages) blockPrice() uint64 {
	price := uint64(p.price.Load())
	if price == 0 {
		price = firstPrice
	}
	return min(max(price/savedWrite, 1)<<p.losses.Load(), savedMost)
}

// continuesRun predicts whether writes of n bytes in order will reach block and save the cost of
// prefaulting it. They must have done so in the block before.
func (p *pages) continuesRun(block int64, n int, price uint64) bool {
	if block == 0 || weight(int64(n))<<blockBits/uint64(n) < price+price/4 {
		return false
	}
	w := p.word(block - 1)
	return w != nil && (w.Load()>>prefaultedShift&seen == seen || w.Load()>>savedShift&savedMost >= price)
}

// prefault prefaults the blocks that the bytes from off to end intersect if they are in
// memory, or only the pages of the bytes.
func (f *file) prefault(m *mapping, off, end int64) bool {
	p, page := &f.pages, int64(pageSize)
	last := min((f.size.Load()+page-1)&^(page-1), int64(len(m.data)))
	from, to := off>>blockBits<<blockBits, min((end+1<<blockBits-1)>>blockBits<<blockBits, last)
	if from >= to {
		return false // it has been truncated
	}
	if !p.seen(from, int(to-from)) && !f.cached(from, to) {
		from, to = off&^(page-1), min((end+page-1)&^(page-1), last)
	}
	if from >= to {
		return false
	}
	began := time.Now()
	err := sys.Prefault(f.inner, m.data[from:to], from)
	switch {
	case err == nil:
		took := int64(time.Since(began))
		p.setPrice(took / ((to-from-1)>>blockBits + 1))
		p.spent.Add(took)
		p.notePrefaulted(from, to-from)
	case errors.Is(err, errors.ErrUnsupported):
		// Each page faults at its first write. It is in memory.
		if !p.seen(off, int(end-off)) {
			return false
		}
		p.notePrefaulted(off, end-off)
		to = (end + page - 1) &^ (page - 1)
	default:
		for block := from >> blockBits; block<<blockBits < to; block++ {
			if w := p.word(block); w != nil {
				w.And(^uint64(savedMost << savedShift)) // try again after more writes
			}
		}
		p.lost()
		return false
	}
	stats.prefaults.Add(1)
	f.prereadNext(to) // which tells a mapped write that the file was not truncated
	return true
}

// notePrefaulted records that the pages of n bytes at off are prefaulted, and then that the
// leaf has some. In this order a concurrent Sync may clear them twice, but never misses
// them.
func (p *pages) notePrefaulted(off, n int64) {
	p.note(notePrefault, off, n)
	for block := off >> blockBits; block<<blockBits < off+n; block++ {
		if _, l := p.grow(block); l != nil && !l.written.Load() {
			l.written.Store(true)
		}
	}
}

const notePrefault = 1 | 1<<readyShift | 1<<prefaultedShift

// setPrice records what prefaulting a block has taken. One that waited for the disk is not
// typical.
func (p *pages) setPrice(took int64) {
	old := int64(p.price.Load())
	if old == 0 {
		old = firstPrice
	}
	p.price.Store(uint32(old + (min(took, 8*old)-old)/4))
}

// lost records that prefaulting has not led to mapped writes that save.
func (p *pages) lost() {
	p.losses.Store(min(p.losses.Load()+1, savedBits))
	p.gains.Store(0)
}

// gained records a timed write that was fast, or a period that saved. Sixteen gains offset
// a loss.
func (p *pages) gained() {
	if losses := p.losses.Load(); losses > 0 && p.gains.Add(1)%16 == 0 {
		p.losses.Store(losses - 1)
	}
}

// judge ends a period of mapped writes at a Sync. It was a loss if prefaulting took longer
// than the writes saved.
func (p *pages) judge(m *mapping) {
	spent := p.spent.Swap(0)
	if spent == 0 || m == nil || m.locks == nil {
		return
	}
	if saved := m.locks.takeWrites() * savedWrite; saved < spent {
		p.lost()
	} else {
		p.gained()
	}
}

// timedStore is store with a timer. A store slower than a system call was a page fault:
// another process had the file written back, which protects its pages. Two in a row are a
// loss, and then no page counts as prefaulted. Called with the lock l.
func (f *file) timedStore(m *mapping, b []byte, off int, l *rangeLock) bool {
	began := time.Now()
	ok := f.store(m, b, off)
	f.endOverdue(began)
	if uint64(time.Since(began)) < 2*savedWrite*weight(int64(len(b))) {
		l.slow = 0
		f.pages.gained()
	} else if l.slow++; l.slow == 2 {
		l.slow = 0
		f.pages.lost()
		f.pages.lost() // all of it must be prefaulted again
		f.pages.synced(0, math.MaxInt64)
	}
	return ok
}
