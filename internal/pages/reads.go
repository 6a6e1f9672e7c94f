package pages

import (
	"sync/atomic"
	"time"
)

// Next is what a read by system call leads to. The zero value is nothing.
type Next struct {
	Credit uint64 // calls that a mapping would have saved, for Credit
	Look   bool   // call Look
	Reread bool   // the pages were ready before the call: the mapping could not prove the end
	Due    bool   // call Buy if the file is mapped
	Ask    bool   // reads are in order: call Plan
	Broken bool   // the order has ended
	Joined bool   // load the page that was read last, for SetJoined
}

// Early counts a read or write of n bytes by system call, instead of Read and Write, and
// reports whether it did. It does not if the call may have to be recorded.
func (p *Pages) Early(n int) bool {
	state := p.state.Load() + 1<<callsShift
	if state&recorded != 0 || state>>callsShift%LookEvery == 0 || n >= AheadBytes {
		return false
	}
	p.state.Store(state)
	return true
}

// count counts a call of n bytes. It returns the state before and after it, the latter without
// an offset, and the table, which is nil if the call is not to be recorded.
func (p *Pages) count(n int64) (t *table, old, state uint64, next Next) {
	old = p.state.Load()
	calls := old>>callsShift + 1
	state = old&recorded | calls<<callsShift
	look := income(calls)
	next.Look = look
	t = p.table.Load()
	first := t == nil
	if first {
		if n < AheadBytes && !records(calls) {
			return nil, old, state, next
		}
		t = p.begin()
	}
	if look {
		t.calls.Add(LookEvery)
	}
	if look || first {
		if state &^= recorded; t.watches() {
			state |= recorded
		}
	}
	if state&recorded == 0 && n < AheadBytes {
		t = nil
	}
	return t, old, state, next
}

// Read records a read of n bytes at off by system call. short says that it met the end of
// the file. A positive n is required. Pages of a block that has ready ones are ready from now on.
func (p *Pages) Read(off, n int64, short bool) Next {
	end, ready := off+n, p.MayRead(off, int(n))
	joined, pages := p.joining(off, n)
	if joined != nil {
		joined.Or(pages * uint64(Ready))
		p.advanceCounted()
	}
	t, old, state, next := p.count(n)
	next.Reread = ready
	next.Joined = joined != nil && p.begin().joined.Add(1)%joinedEvery == 1
	state |= uint64(end) & offsetMask
	if t == nil {
		p.state.Store(state)
		return next
	}
	if page := t.lastPage.Load(); page > 0 && end > page<<PageBits {
		t.lastPage.Store(0)
		t.unproven.Store(0)
	}
	// Of a page in which both begin and end, only the read before may have seen the rest.
	goesOn := off%PageSize != 0 && old&offsetMask == uint64(off)&offsetMask && old&cameBack == 0
	if p.Note(Seen, off, n) && !goesOn {
		state |= cameBack
		p.countReread(off, n, &next)
	}
	p.state.Store(state)
	asked := t.asked.Load()
	switch {
	case short, old&recorded == 0: // nothing is known of the reads before
	case old&offsetMask != uint64(off)&offsetMask && (asked == 0 || asked < off || asked > end): // mapped reads do not move the offset
		if t.run.Load() > 0 {
			t.run.Store(0)
			t.asked.Store(0)
			next.Broken = true
		}
	case t.run.Load() < orderFrom:
		t.run.Add(1)
	case end >= asked:
		next.Ask = true
	}
	return next
}

// Joins reports whether Read is to make pages ready that were just read, n bytes at off.
func (p *Pages) Joins(off int64, n int) bool {
	w, _ := p.joining(off, int64(n))
	return w != nil
}

// joining returns the word of a block that has ready pages, and those of n bytes at off, unless
// they are ready, too. The fault of the block has most likely mapped them, but not what was added
// to the file since (see SetJoined).
func (p *Pages) joining(off, n int64) (w *atomic.Uint64, pages uint64) {
	t, block := p.table.Load(), off>>BlockBits
	if t == nil || t.confirm || !affords(0) || block != (off+n-1)>>BlockBits {
		return nil, 0
	}
	if w = p.word(uint64(block)); w == nil {
		return nil, 0
	}
	ready := w.Load() >> readyShift
	if pages = blockMask(block, off, off+n) &^ (ready | t.unprovable(block)); ready == 0 || pages == 0 {
		return nil, 0
	}
	return w, pages
}

// Asked records that the system was asked what is in memory up to end, after reads in order.
func (p *Pages) Asked(end int64) {
	if t := p.table.Load(); t != nil {
		t.asked.Store(end)
	}
}

// Ahead returns up to where a question after reads in order reaches, and from where the next
// one is due.
func Ahead(off int64, far bool) (end, again int64) {
	if far {
		return off + BlockSize, off + farBytes
	}
	return (off + AheadBytes) >> BlockBits << BlockBits, off + AheadBytes
}

// Calls returns the system calls since the last one for which Next.Look was set.
func (p *Pages) Calls() uint64 { return p.state.Load() >> callsShift % LookEvery }

// income adds to the budget at each LookEvery-th system call of a file, and reports whether it
// did: then it is time to look for evictions.
func income(calls uint64) bool {
	if calls%LookEvery != 0 {
		return false
	}
	earned(LookEvery * callNow() / incomeShare)
	return true
}

// records reports whether a file is recorded from this call on.
func records(calls uint64) bool {
	return calls >= recordFree || calls >= trackFrom && calls&(calls-1) == 0 && spares(recordPrice)
}

// Write records a write of n bytes at off by system call. size is the file's known length.
// A write past that does not count, since a file that is being created need not be mapped.
// But nothing may be known of a file that existed before: stat says to ask now and then.
func (p *Pages) Write(off, n, size int64) (next Next, stat bool) {
	t, old, state, next := p.count(n)
	p.state.Store(state | old&(offsetMask|cameBack))
	if t == nil {
		return next, false
	}
	if end := off + n; end > t.end.Load() && end > size {
		t.end.Store(end)
		k := t.past.Add(1)
		return next, k&(k-1) == 0
	}
	if p.Note(Seen, off, n) {
		next.Credit = weight(n) * uint64(t.stands.Load())
	}
	return next, false
}

// Credit counts calls that a mapping would have saved, and reports whether mapping the file
// pays.
func (p *Pages) Credit(calls uint64) bool {
	t := p.table.Load()
	if t == nil {
		return false
	}
	credit := uint64(t.credit.Add(uint32(min(calls, mapFrom))))
	return credit >= mapFrom<<t.failures.Load() && (affords(mapNeeds) || credit >= mapOwn)
}

// Mapped records an attempt to map the file, and what it has taken. After one that failed the next
// comes later.
func (p *Pages) Mapped(ok bool, took time.Duration) {
	t := p.begin()
	t.credit.Store(0)
	budget.Add(-min(int64(took), mapMax))
	if !ok {
		t.failures.Store(min(t.failures.Load()+1, 10))
		return
	}
	end := unmapPrice()
	budget.Add(-end)
	t.ending.Add(uint32(end))
	t.limit.Add(savedMap)
}

// countReread counts a read of seen pages in each of its blocks, and sets what follows from it.
func (p *Pages) countReread(off, n int64, next *Next) {
	end := off + n
	due, all, stands := false, true, uint64(p.begin().stands.Load())
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w := p.word(uint64(block))
		if w == nil {
			continue
		}
		part := min(end, (block+1)<<BlockBits) - max(off, block<<BlockBits)
		old := w.Load()
		reads := min(old>>readsShift&readsMax+weight(part)*stands, readsMax)
		if counted := old&^(readsMax<<readsShift) | reads<<readsShift; counted != old {
			w.CompareAndSwap(old, counted) // else another call counts
		}
		pages := blockMask(block, off, end)
		all = all && old>>readyShift&pages == pages
		due = due || reads >= readyFrom
	}
	next.Credit, next.Due = weight(n)*stands, due && !all
}

// Confirm says that a page which was read may be a hole, which a load from the mapping
// would fill. It is ready once the system counts it (see Buy).
func (p *Pages) Confirm() {
	r := p.begin().record
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := p.table.Load(); !t.confirm {
		next := &table{record: t.record, confirm: true, leaves: t.leaves}
		next.front.Store(t.front.Load())
		p.table.Store(next)
	}
}
