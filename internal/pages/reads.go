package pages

// Next is what a read by system call leads to. The zero value is nothing.
type Next struct {
	Credit uint64 // calls that a mapping would have saved, for Credit
	First  bool   // this is the first call to be recorded
	Look   bool   // call Look
	Reread bool   // the pages were ready before the call: the mapping could not prove the end
	Due    bool   // call Buy if the file is mapped
	Ask    bool   // reads are in order: call Plan
	Broken bool   // the order has ended
}

// Early counts a read or write of n bytes by system call, instead of Read and Write, and
// reports whether it did. It does not if the call may have to be recorded.
func (p *Pages) Early(n int) bool {
	calls := p.state.Load() + 1<<callsShift
	if calls >= trackFrom<<callsShift || n >= AheadBytes {
		return false
	}
	p.state.Store(calls)
	return true
}

// Read records a read of n bytes at off by system call. short says that it met the end of
// the file. A positive n is required.
func (p *Pages) Read(off, n int64, short bool) (next Next) {
	end := off + n
	state := p.state.Load()
	calls := state>>callsShift + 1
	next.Look = income(calls)
	t := p.table.Load()
	if t == nil {
		if n < AheadBytes && !records(calls) {
			p.state.Store(calls<<callsShift | uint64(end)&offsetMask)
			return Next{}
		}
		t = p.begin()
		next.First = true
	}
	if next.Look {
		t.calls.Add(LookEvery)
	}
	if last := t.lastPage.Load(); last > 0 && end > last<<PageBits {
		t.lastPage.Store(0)
		t.unproven.Store(0)
	}
	back := p.Note(Seen, off, n)
	if off%PageSize != 0 && state&offsetMask == uint64(off)&offsetMask && state&cameBack == 0 {
		back = false // only the read before has seen the page
	}
	last := calls<<callsShift | uint64(end)&offsetMask
	if back {
		last |= cameBack
		next.Reread = p.has(readyShift, off, int(n))
		next.Due = p.countReread(off, n) && !next.Reread
		next.Credit = weight(n)
	}
	p.state.Store(last)
	asked := t.asked.Load()
	switch {
	case short:
	case state&offsetMask != uint64(off)&offsetMask && (asked == 0 || asked < off || asked > end): // mapped reads do not move the offset
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
	earned(LookEvery * callTime / incomeShare)
	return true
}

// records reports whether a file is recorded from this call on.
func records(calls uint64) bool {
	return calls >= recordFree || calls >= trackFrom && calls&(calls-1) == 0 && pays(recordPrice)
}

// Write records a write of n bytes at off by system call. size is the file's known length.
// A write past that does not count, since a file that is being created need not be mapped.
// But nothing may be known of a file that existed before: stat says to ask now and then.
func (p *Pages) Write(off, n, size int64) (next Next, stat bool) {
	state := p.state.Load()
	calls := state>>callsShift + 1
	p.state.Store(calls<<callsShift | state&(offsetMask|cameBack))
	next.Look = income(calls)
	t := p.table.Load()
	if t == nil {
		if n < AheadBytes && !records(calls) {
			return Next{}, false
		}
		t = p.begin()
		next.First = true
	}
	if next.Look {
		t.calls.Add(LookEvery)
	}
	if end := off + n; end > t.end.Load() && end > size {
		t.end.Store(end)
		k := t.past.Add(1)
		return next, k&(k-1) == 0
	}
	if p.Note(Seen, off, n) {
		next.Credit = weight(n)
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

// Mapped records an attempt to map the file. After one that failed the next comes later.
func (p *Pages) Mapped(ok bool) {
	t := p.begin()
	t.credit.Store(0)
	if !ok {
		t.failures.Store(min(t.failures.Load()+1, 10))
		return
	}
	budget.Add(-mapPrice)
	t.limit.Add(savedMap)
}

// countReread counts a read of seen pages in each of its blocks. It returns true if Buy may
// make one of them ready.
func (p *Pages) countReread(off, n int64) (due bool) {
	end := off + n
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w := p.word(uint64(block))
		if w == nil {
			continue
		}
		part := min(end, (block+1)<<BlockBits) - max(off, block<<BlockBits)
		old := w.Load()
		reads := min(old>>readsShift&readsMax+weight(part), readsMax)
		if next := old&^(readsMax<<readsShift) | reads<<readsShift; next != old {
			w.CompareAndSwap(old, next) // else another call counts
		}
		due = due || reads >= readyFrom
	}
	return due
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
