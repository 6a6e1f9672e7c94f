package pages

import (
	"sync/atomic"
	"time"
)

// The prices of what is tried, in nanoseconds, are on one host (Linux 6.18). prices_test.go has
// what they are made of. A price that is too low weakens the bound, one that is too high
// costs gains.
const (
	callTime    = 430    // a read of 64 bytes by system call, until one is measured; a mapped one saves nearly all of that
	recordPrice = 1_000  // the record of a file
	mapPrice    = 10_000 // a mapping and its end, without faults, until these are measured
	mapMax      = 20_000 // one that took longer has waited for a processor
	leafPrice   = 200    // a leaf of the record, after the first
	notePrice   = 30     // a call that is recorded
	periodPrice = 4_000  // a period of mapped writes: fstat, a timer, and the new modification time
	askPrice    = 890    // the question what is in memory: two system calls
	copyPrice   = 20     // a read from the mapping, and
	copyBytes   = 64     // bytes that it copies in a nanosecond
	faultPrice  = 720    // the fault of a block, until one is measured: 720 with large folios, 4,280 with small ones
	faultMax    = 16_000 // one that took longer has waited for a processor
	faultUsual  = 5_000  // one that takes longer is not what the next ones take
	joinedFault = 400    // mean of loads above which most are faults
	joinedMax   = 1_200  // the fault of one page: one that took longer has waited, or is that of a block
)

// budget is what trying may cost the process by now, in nanoseconds. See the package comment.
var budget atomic.Int64

func init() { budget.Store(budgetStart) }

// earned adds to the budget what system calls allow, or mapped calls have saved.
func earned(ns int64) {
	for {
		old := budget.Load()
		if old >= budgetMax || budget.CompareAndSwap(old, min(old+ns, budgetMax)) {
			return
		}
	}
}

// affords reports whether the budget allows something at that price.
func affords(price int64) bool { return budget.Load() >= price }

// pays takes the price from the budget, unless it is less.
func pays(price int64) bool {
	for {
		old := budget.Load()
		if old < price {
			return false
		}
		if budget.CompareAndSwap(old, old-price) {
			return true
		}
	}
}

// measuredCall is the last time that SetCall was given; 0 for none. It differs by four between hosts.
var measuredCall, looks atomic.Int64

// callNow returns the nanoseconds that a small read by system call takes, which a mapped one saves.
func callNow() int64 {
	if took := measuredCall.Load(); took > 0 {
		return took
	}
	return callTime
}

// MeasuresCall reports whether a small read by system call is to be measured now, for SetCall. It
// is asked at each Look. Some files cannot be read, so the first one may be due at several.
func MeasuresCall() bool { return looks.Add(1)%measureEvery == 0 || measuredCall.Load() == 0 }

// SetCall records what a small read by system call has taken.
func SetCall(took time.Duration) { measuredCall.Store(min(max(int64(took), callMin), callMax)) }

// unmapping is the expected price of the end of a mapping: what the last ones took.
var unmapping atomic.Int64

func unmapPrice() int64 {
	if price := unmapping.Load(); price > 0 {
		return price
	}
	return mapPrice / 2
}

// Unmapped records what the end of the file's mapping has taken, and corrects what was paid for it.
func (p *Pages) Unmapped(took time.Duration) {
	t := p.table.Load()
	if t == nil {
		return
	}
	paid := int64(t.ending.Swap(0))
	if paid == 0 {
		return // a caller has asked for the mapping
	}
	old, price := unmapPrice(), min(int64(took), mapMax)
	budget.Add(paid - price)
	unmapping.Store(max(old+(price-old)/4, 1))
}

// BeginsPeriod reports whether a mapped write may begin a period, which it pays for. That may take
// the budget below zero once, since only mapped writes earn. From then on one in periodOwn writes may.
func (w *Writes) BeginsPeriod() bool {
	if affords(0) {
		budget.Add(-periodPrice)
		return true
	}
	w.denied++
	return w.denied%periodOwn == 0
}

// watches reports whether the calls of a file until the next group of LookEvery are recorded.
// That is a trial, too. If the budget is empty, one group of watchOne is recorded. Each of its
// calls then stands for those of the groups that were left out.
func (r *record) watches() bool {
	const price = LookEvery * notePrice
	since, waits := r.unwatched.Add(1), int64(0)
	if r.waited.Load() { // then what is saved up for prefaulting a block is not spent here
		waits = int64(r.prefaultPrice())
	}
	if since < watchOne && (!affords(waits+price) || !spares(price)) {
		return false
	}
	r.unwatched.Store(0)
	r.stands.Store(since)
	return true
}

// spares is pays for a price that leaves enough for a mapping: recording is of no use without one.
func spares(price int64) bool { return affords(mapNeeds+price) && pays(price) }

// blockFault is the expected price of the fault of a block in any file: that of the last file
// in which one was measured.
var blockFault atomic.Int64

// faultOf returns the expected price of the fault of a block of this file.
func (r *record) faultOf() int64 {
	if price := int64(r.fault.Load()); price > 0 {
		return price
	}
	if price := blockFault.Load(); price > 0 {
		return price
	}
	return faultPrice
}

// SetFault records what the faults of so many blocks have taken, and corrects what was paid for
// them. One fault may map several blocks, so the average over many counts.
func (p *Pages) SetFault(took, blocks int64) {
	r := p.begin().record
	old, took := r.faultOf(), min(took/blocks, faultMax)
	budget.Add((old - took) * blocks)
	if r.fault.Load() != 0 && old <= faultUsual { // else the last one has waited
		took = old + (took-old)/4
	}
	r.fault.Store(uint32(max(took, 1)))
	blockFault.Store(max(took, 1))
}

// SetJoined records what a load of a page that joined has taken. If most of them are faults, the
// budget pays for those that are not measured, too. The first load of a block is its fault, which is
// paid for, so one alone counts for little.
func (p *Pages) SetJoined(took int64) {
	t := p.begin()
	mean := int64(t.joinedTook.Load())
	mean += (min(took, joinedMax) - mean) / 4
	if t.joinedTook.Store(uint32(max(mean, 0))); mean > joinedFault {
		budget.Add(-mean * joinedEvery)
	}
}

// Buy makes the seen pages of n bytes at off ready, in blocks that were reread often enough,
// if the budget allows the faults. The file must be mapped. If exists is true, the system
// must confirm that the pages exist, and Note makes them ready. If measure is not negative,
// the caller is to load the page at that offset now, for SetFault.
func (p *Pages) Buy(off, n int64) (exists bool, measure int64) {
	t, end := p.begin(), off+n
	measure = -1
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w := p.word(uint64(block))
		if w == nil {
			continue
		}
		old := w.Load()
		set := old & seen &^ t.unprovable(block)
		if old>>readsShift&readsMax < readyFrom || set&^(old>>readyShift) == 0 {
			continue
		}
		fault := old>>readyShift == 0 // a block that has ready pages has most likely had its fault
		if t.confirm && !exists {
			if fault && t.bought.Load() >= mapBlocks && !affords(askPrice+t.faultOf()) || !pays(askPrice) {
				continue // nothing is asked that could not be bought then
			}
		}
		if fault && !t.pay(1) {
			continue
		}
		if fault { // now, so that pages which join need none
			measure = max(off, block<<BlockBits)
		}
		if t.confirm {
			exists = true
			w.And(^uint64(readsMax << readsShift))
			continue
		}
		w.Or(set << readyShift)
	}
	switch {
	case t.saved.Load() <= t.limit.Load():
		t.front.Store(0) // what is saved now is counted
	case !exists:
		p.advance()
	}
	return exists, measure
}

// measures reports whether the faults of the n blocks that were just bought ahead are to be
// measured: those of the first two of a file, since one may have waited, and of a quarter of the rest.
func (r *record) measures(n uint32) bool {
	return r.fault.Load() == 0 || (r.bought.Load()-n)%(8*n) < 2*n
}

// pay pays for the faults of n blocks. The first ones of a mapping are part of what a mapping
// needs to save anything: they are bought in any case.
func (r *record) pay(n int64) bool {
	price := n * r.faultOf()
	if int64(r.bought.Load())+n <= mapBlocks {
		budget.Add(-price)
	} else if !pays(price) {
		return false
	}
	r.bought.Add(uint32(n))
	r.limit.Add(uint32(n * savedBlock))
	return true
}

// BuyAhead makes the pages from off to end ready, which are in memory and expected to be read
// in order, if the budget allows the faults. The file must be mapped. If measure is positive,
// the caller is to load a page of each of so many blocks now, for SetFault.
func (p *Pages) BuyAhead(off, end int64) (measure int64) {
	t := p.begin()
	if page := t.lastPage.Load() - 1; page >= 0 { // what proves nothing is not read ahead
		end = min(end, page<<PageBits)
	}
	blocks := (end-1)>>BlockBits - off>>BlockBits + 1
	if end <= off || !t.pay(blocks) {
		return 0
	}
	t.front.Store(0) // as in Buy
	if p.Note(Ready, off, end-off); !t.measures(uint32(blocks)) {
		return 0
	}
	return blocks
}

// BuyProof reports whether the page at off is to be read, so that mapped calls which end in zeros
// before it find their proof there. The budget pays for that read, for the call of n bytes that had
// no proof, and, if the block of the page has no ready pages, for its fault. If measure is true, the caller
// is to load the page after it was read, for SetFault.
func (p *Pages) BuyProof(off, n int64) (ok, measure bool) {
	t, price := p.begin(), 2*callNow()+vain(n)
	w := p.word(uint64(off >> BlockBits))
	fault := w == nil || w.Load()>>readyShift == 0
	if fault {
		price += t.faultOf()
	}
	if !affords(0) {
		return false, false
	}
	budget.Add(-price) // once below zero: it is worth more than a block, which waits for its price
	if fault {
		t.bought.Add(1)
	}
	return true, fault
}

// Plan decides about reads of n bytes in order at off, in a file of size bytes. ask says that
// what follows is worth the question whether it is in memory. far says that a mapping gains
// nothing there, so that the answer makes nothing ready.
func (p *Pages) Plan(off, n, size int64, mapped bool) (ask, far bool) {
	t := p.begin()
	rest := min(size-off, restMax)
	calls, faults := rest*callTime/n, (rest>>BlockBits+1)*min(t.faultOf(), faultUsual)
	far = n > orderMax || calls < faults/4*aheadNeeds
	if far && n <= orderMax { // the price may have been that of another file, or of a busy moment
		blockFault.Store(t.faultOf() / 8 * 7)
		t.fault.Store(0) // so the next faults are measured: what is guessed is not what they take
	}
	if !mapped && !far {
		ahead := (min(rest, AheadBytes)>>BlockBits + 1) * t.faultOf() // for BuyAhead
		far = (calls-faults)*3/4 < aheadPrice || !affords(max(mapNeeds, mapPrice+ahead))
	}
	if asked := t.asked.Load(); far && asked > 0 && off-asked >= farBytes {
		return true, true // what was read since costs far more than the question
	}
	return pays(askPrice), far
}

// unprovable returns the pages of block that reads do not copy, because that proves nothing.
func (r *record) unprovable(block int64) uint64 {
	page := r.lastPage.Load() - 1
	if page < 0 || page>>(BlockBits-PageBits) != block {
		return 0
	}
	return seen << (page % 16) & seen
}

// vain returns the price of a read of n bytes from the mapping that is then repeated by system call.
func vain(n int64) int64 { return copyPrice + n/copyBytes + notePrice }

// Unproven records that a read of n bytes at off was copied from the mapping, and that nothing
// proved that the file has its last byte: it ends in zeros. If that is in the last page, and most
// reads of the file are so, the page is not ready any more until the file has grown. Elsewhere
// the budget could not pay for the proof. Then the page is not ready until it joins again.
func (p *Pages) Unproven(off, n int64, last bool) {
	t := p.begin()
	off += n - 1
	budget.Add(-vain(n))
	if t.saved.Load() <= t.limit.Load() {
		budget.Add(-callNow()) // Ready has counted it as saved
	}
	void := blockMask(off>>BlockBits, off, off+1) << readyShift
	if last {
		if k := t.unproven.Add(1); k%32 != 0 || 2*k < t.saved.Load() {
			return
		}
		t.lastPage.Store(off>>PageBits + 1)
		void = t.unprovable(off>>BlockBits) << readyShift
	}
	if w := p.word(uint64(off >> BlockBits)); w != nil {
		w.And(^void)
	}
	t.mu.Lock()
	p.resetFront(t.record)
	t.mu.Unlock()
}

// saved counts a mapped call, up to the limit. Then the front is moved, and most calls do
// without the count.
func (p *Pages) saved(t *table) {
	switch k, limit := t.saved.Load(), t.limit.Load(); {
	case k > limit:
	case k == limit:
		t.saved.Store(k + 1)
		p.advance()
	default:
		if t.saved.Store(k + 1); (k+1)%savedEvery == 0 {
			earned(savedEvery * callNow())
		}
	}
}

// Unbound gives the process a budget that no program exhausts. It is for tests of other
// packages, which share a process.
func Unbound() { budget.Store(1 << 60) }
