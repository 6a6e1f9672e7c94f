package mmapfile

import (
	"errors"
	"time"
)

// The first mapped write to a page is a fault, after each Sync again, and some of
// them cost more than a pwrite; prefaulting a block of pages in one call is far
// cheaper. So the writes of a block go through pwrite until mapped ones would
// have saved what prefaulting costs, which is measured. Then it is prefaulted.
const (
	savedWrite    = 600  // nanoseconds that a small mapped write saves, or 16 KiB of a larger one
	prefaultPrice = 4800 // nanoseconds for a block, until it is measured
)

// errHoles: the blocks of the file would be allocated in a page fault.
var errHoles = errors.New("the file has holes")

// mapsWrite reports whether a write of n bytes at off is to go to the mapping m, and
// prefaults its blocks if that pays by now. Called with the range locked.
func (f *file) mapsWrite(m *mapping, off int64, n int) bool {
	p, end := &f.pages, off+int64(n)
	if p.has(prefaultedShift, off, n) {
		return true
	}
	price := uint64(prefaultPrice)
	if v := p.price.Load(); v > 0 {
		price = uint64(v)
	}
	due := true
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
		due = due && (saved*savedWrite >= price || saved == savedMost)
	}
	return due && f.prefault(m, off, end)
}

// prefault prefaults the blocks that the bytes from off to end touch, if they are in
// memory, or their pages alone.
func (f *file) prefault(m *mapping, off, end int64) bool {
	p, page := &f.pages, int64(pageSize)
	last := min((f.size.Load()+page-1)&^(page-1), int64(len(m.data)))
	from, to := off>>blockBits<<blockBits, min((end+1<<blockBits-1)>>blockBits<<blockBits, last)
	if !p.seen(from, int(to-from)) && !f.cached(from, to) {
		from, to = off&^(page-1), min((end+page-1)&^(page-1), last)
	}
	if from >= to {
		return false
	}
	began := time.Now()
	err := prefaultPages(f.inner, m.data[from:to], from)
	switch {
	case err == nil:
		p.setPrice(int64(time.Since(began)) / ((to-from)>>blockBits + 1))
		p.note(notePrefaulted, from, to-from)
	case errors.Is(err, errors.ErrUnsupported):
		// Each page faults at its first write. It is in memory.
		if !p.seen(off, int(end-off)) {
			return false
		}
		p.note(notePrefaulted, off, end-off)
		to = (end + page - 1) &^ (page - 1)
	default:
		for block := from >> blockBits; block<<blockBits < to; block++ {
			if w := p.word(block); w != nil {
				w.And(^uint64(savedMost << savedShift)) // try again after as many writes
			}
		}
		return false
	}
	stats.prefaults.Add(1)
	// The page after tells a mapped write that the file was not truncated.
	if to < f.size.Load() && !p.seen(to, 1) {
		f.readIn(to, to+1)
	}
	return true
}

const notePrefaulted = 1 | 1<<readyShift | 1<<prefaultedShift

// setPrice notes what prefaulting a block has taken. One that waited for the disk is not
// typical.
func (p *pages) setPrice(took int64) {
	old := int64(p.price.Load())
	if old == 0 {
		old = prefaultPrice
	}
	p.price.Store(uint32(old + (min(took, 8*old)-old)/4))
}
