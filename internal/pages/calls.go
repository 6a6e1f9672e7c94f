package pages

import (
	"math"
	"math/bits"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// Early counts a call of n bytes by system call, instead of Read and Write, and reports whether it did. It does not if
// the call may have to be recorded, is long, or was tried from the mapping. It is inlined.
func (p *Pages) Early(n int, tried bool) bool {
	old := p.state.Load()
	state := old + oneCall
	if state&recorded != 0 || state>>callsShift%LookEvery == 0 || n >= Long || tried {
		return false
	}
	p.state.CompareAndSwap(old, state+oneEarly)
	return true
}

// next counts a call up to end by system call that was not early. old is the state before it, and state that with the
// offset of a read. why is the reason of those before it that were not recorded, or None: then they have waited for the
// account, unless their block waits. It returns the state after the call, and whether it is recorded. looks says that it is
// time to call look. Of calls at the same time one is counted, and looks.
func (p *Pages) next(h Host, old, state uint64, end int64, why reason.Reason) (after uint64, records, looks bool) {
	state += oneCall
	paid := int64(0)
	if looks = state>>callsShift%LookEvery == 0; looks {
		if old&closed != 0 {
			return state, false, false
		}
		state &^= recorded | sampled
		needs := int64(LookEvery * prices.Record)
		if !h.MapsTo(end) {
			needs += prices.Mapping() // without a mapping, the record is of no use
		}
		switch {
		case trialWaits.Add(-1) < 0 && account.Affords(needs):
			paid = LookEvery * prices.Record
			state |= recorded
		case state>>callsShift/LookEvery%recordOne == 0:
			state |= recorded | sampled
		}
	}
	records = (old|state)&recorded != 0
	if !records {
		state += oneEarly
	}
	unrecorded := uint64(0)
	if looks && (records || !p.holds(state)) {
		unrecorded = early(state)
		state &^= earlyMask
	}
	if !p.state.CompareAndSwap(old, state) {
		return state, false, false
	}
	if paid > 0 {
		account.Spend(paid)
	}
	if unrecorded > 0 {
		switch {
		case why != reason.None:
		case p.begin().blockWaits(end):
			why = reason.Unproven
		default:
			why = reason.Unpaid
		}
		p.unrecorded(unrecorded, why)
	}
	return state, records, looks
}

// count records a call of n bytes at off by system call: its pages are seen from now on. again says
// that all of them were, and hot that reads copied them from the mapping. due says that it is time to make
// the pages of a block ready.
func (p *Pages) count(off, n int64, state uint64, rereads, writes bool) (again, hot, due bool) {
	end, stand := off+n, uint64(1)
	if state&sampled != 0 {
		stand = recordOne
	}
	again, hot = true, true
	for block := off >> blockBits; block <= (end-1)>>blockBits; block++ { // the offset after the last one may be 1<<63
		w, pages := p.word(block), blocks.Mask(block, off, end)
		old := w.Load()
		again = again && old&pages == pages
		hot = hot && old>>readyShift&pages == pages
		reads, wrote := old>>readsShift&readsMax, old>>writesShift&writesMax
		switch {
		case reads > readyFrom:
			reads = (reads + 1) & readsMax
		case writes && old>>prefaultedShift&pages != pages:
			wrote = min(wrote+stand, writesMax)
		case rereads && old&pages == pages && old>>readyShift&pages != pages:
			reads = min(reads+stand, readyFrom)
			due = due || reads == readyFrom
		}
		counted := old&^(readsMax<<readsShift|writesMax<<writesShift) | reads<<readsShift | wrote<<writesShift | pages
		if counted != old {
			w.CompareAndSwap(old, counted) // else another call counts
		}
		if wrote > 0 && old&(prefaulted|writesMax<<writesShift) == 0 {
			p.begin().Written(uint64(block))
		}
	}
	return again, hot, due
}

// Read records a read of n bytes at off by system call, and does what follows from it. short says that
// it met the end of the file, and tried that it was copied from the mapping, where nothing proved that the file has its
// last byte. A positive n is required.
func (p *Pages) Read(h Host, off, n int64, short, tried bool) {
	old, end := p.state.Load(), off+n
	why := reason.None
	switch {
	case short:
		why = reason.PastEnd
	case tried:
		why = reason.Unproven
	}
	state, records, looks := p.next(h, old, old&^offsetMask|uint64(end)&offsetMask, end, why)
	if looks {
		look(h, end-1, prices.OfShortRead())
	}
	if n >= Long {
		p.earn(TimedRead, n)
	}
	if tried && !short {
		p.unproven(h, off, n)
	}
	if !records {
		return
	}
	follows := old&offsetMask == uint64(off)&offsetMask
	onPage := off%PageSize != 0 && follows && off>>pageBits == (end-1)>>pageBits // so only the read before may have seen the page
	again, hot, due := p.count(off, n, state, !onPage, false)
	again = again && !onPage
	run, asks, broken, counted := state&runMask, false, false, state
	switch {
	case short, old&recorded == 0: // nothing is known of the reads before
	case !follows && !p.goesOn(run, off, end):
		broken = run != 0
		state &^= runMask
	case run < readyFrom*oneInOrder:
		state += oneInOrder
	default:
		asks = !hot && end >= p.begin().asked.Load()
	}
	if state != counted { // seldom for reads at random
		p.state.CompareAndSwap(counted, state)
	}
	r, mapped := p.begin(), (again || due) && h.MapsTo(end)
	r.calls.Add(r.why(end, short, tried, again, mapped, hot, mapped && due && !account.Affords(0)), 1)
	switch {
	case !again && !due:
	case !mapped:
		p.wouldSave(h)
	case due:
		p.makeReady(h, off, n)
	}
	switch {
	case broken:
		p.begin().asked.Store(0)
		h.InOrder(false)
	case asks:
		p.lookAhead(h, end, n)
	}
}

// why returns why a recorded call up to end was a system call. See count. past says that it met the end of the file, tried
// that nothing proved a copy of it, and unpaid that a trial waits for the account.
func (r *record) why(end int64, past, tried, again, mapped, hot, unpaid bool) reason.Reason {
	switch {
	case past:
		return reason.PastEnd
	case tried || again && mapped && r.blockWaits(end):
		return reason.Unproven
	case !again:
		return reason.Unseen
	case unpaid, !mapped && r.credit.Load() >= mapFrom && !account.Affords(prices.Mapping()):
		return reason.Unpaid
	case !mapped:
		return reason.Unmapped
	case hot:
		return reason.Slower
	}
	return reason.Seldom
}

// blockWaits reports whether the block before end waits. See waiting.
func (r *record) blockWaits(end int64) bool {
	w := r.Word(uint64(end-1) >> blockBits)
	return w != nil && w.Load()>>readsShift&readsMax > readyFrom
}

// Write records a write of n bytes at off by system call. known is the length that was known before it: of a write past that
// nothing is recorded, since a log that grows would pay for it, and a file that is being created need not be mapped. why is
// None unless no mapping could have served it.
func (p *Pages) Write(h Host, off, n, known int64, why reason.Reason) {
	end, old := off+n, p.state.Load()
	if why == reason.None && end > known {
		why = reason.PastEnd
	}
	state, records, looks := p.next(h, old, old, end, why)
	if looks {
		look(h, end-1, p.rec.Load().ofShortWrite(n))
	}
	if n >= Long {
		p.earn(Write, n)
	}
	if !records {
		return
	}
	r := p.begin()
	if end > known {
		if looks && (state&sampled != 0 || old&sampled == 0 && state>>callsShift == LookEvery) { // once of 256 calls
			h.Size(end) // the length of a file that existed before may be unknown
			account.Spend(askCalls * prices.Call.Now())
		}
		r.calls.Add(why, 1)
		return
	}
	mapped, unpaid := h.MapsTo(end), false
	again, _, _ := p.count(off, n, state, false, mapped)
	if why == reason.None {
		if mapped && r.wroteEnough(off, end) {
			r.Flag(blocks.Due, uint64(off)>>blockBits)
			unpaid = !account.Affords(prices.Prefault.Now() + reserve(int(n)))
		}
		why = r.why(end, false, false, again, mapped, false, unpaid)
		if again && !mapped {
			p.wouldSave(h)
		}
	}
	r.calls.Add(why, 1)
}

// wouldSave counts a call that a mapping would have saved, and maps the file if that pays.
func (p *Pages) wouldSave(h Host) {
	r := p.begin()
	switch {
	case r.credit.Add(1) < mapFrom:
	case !account.Affords(prices.Mapping()):
		trialWaits.Store(waitLooks)
	default:
		trialWaits.Store(0)
		r.credit.Store(0)
		r.mapFile(h)
	}
}

// makeReady makes the seen pages of the blocks of n bytes at off ready that are reread often enough. It asks once
// whether all of a block are in memory, and loads one, since the first load of a block is a fault that maps all of them.
func (p *Pages) makeReady(h Host, off, n int64) {
	r, end, size, changed := p.begin(), off+n, h.Size(off), false
	confirm := r.confirm.Load()
	for block := off >> blockBits; block <= (end-1)>>blockBits && account.Affords(0); block++ {
		w := r.Word(uint64(block))
		if w == nil || w.Load()>>readsShift&readsMax != readyFrom {
			continue
		}
		old, from := w.And(^uint64(readsMax<<readsShift)), block<<blockBits
		set := old & seen
		if confirm {
			set = 0
		}
		if confirm || old&ready == 0 && bits.OnesCount64(old&seen) > readyFrom { // else the question costs as much as it saves
			if to := min(from+BlockSize, size); inMemory(h, from, to) {
				set = blocks.Mask(block, from, to)
			} else if from, to = max(off, from), min(end, to); confirm && inMemory(h, from, to) {
				set = blocks.Mask(block, from, to)
			}
		}
		took := int64(0)
		if set != 0 {
			took = int64(h.Load(min(end, (block+1)<<blockBits) - 1))
		}
		if took == 0 {
			w.Or(waiting << readsShift)
			continue
		}
		w.Or(set<<readyShift | set)
		r.Flag(blocks.ForReads, uint64(block))
		changed = true
		r.payLoad(old, took)
	}
	if changed {
		r.Advance(&p.front, readyShift)
	}
}

func inMemory(h Host, off, end int64) bool {
	in, err := h.InMemory(off, end)
	account.Spend(askCalls * prices.Call.Now())
	return in && err == nil
}

// goesOn reports whether a read from off to end continues the order: the reads before it were mapped.
func (p *Pages) goesOn(run uint64, off, end int64) bool {
	asked := p.begin().asked.Load()
	return run > 0 && asked > 0 && asked >= off && asked <= end
}

// unproven follows a read of n bytes at off that was tried: it ends in zeros. The page after it would prove that, and without
// it the load of the block was for nothing: so the account may be a little below zero. If the file has none, the page is not
// ready any more.
func (p *Pages) unproven(h Host, off, n int64) {
	page := (off + n - 1) >> pageBits
	account.Spend(prices.InVain(n))
	next := (page + 1) << pageBits
	if h.MapsTo(next+1) && account.Affords(-account.Start/8) && !p.Proves(next) {
		old := p.word(next >> blockBits).Load()
		h.ReadPage(next)
		account.Spend(2 * prices.Call.Now())
		if p.Proves(next) {
			if took := int64(h.Load(next)); took > 0 {
				p.begin().payLoad(old, took)
				return
			}
		}
	}
	p.giveUp(page, n)
}

// Unproven follows a mapped call of n bytes at off that is repeated by system call for that reason.
func (p *Pages) Unproven(off, n int64) {
	account.Spend(prices.InVain(n))
	p.giveUp((off+n-1)>>pageBits, n)
}

// giveUp follows a mapped call of n bytes that nothing proved. Unless they are few and the account has much, page is read
// and written by system call, and its block waits for some calls: the file may grow.
func (p *Pages) giveUp(page, n int64) {
	if n < PageSize && account.Affords(richFrom) {
		return
	}
	r := p.begin()
	if w := r.Word(uint64(page) >> (blockBits - pageBits)); w != nil {
		w.And(^(uint64(1<<readyShift|1<<prefaultedShift)<<(page%16) | readsMax<<readsShift | writesMax<<writesShift))
		w.Or((readsMax - LookEvery) << readsShift)
	}
	r.Retreat(&p.front, uint64(page)<<pageBits)
}

// lookAhead follows reads in order of n bytes, up to off. It asks whether what comes next is in memory. If
// it is, and mapping it pays, it is ready. If it is not, the system is told to read ahead.
//
// Pages that are read ahead, and not again, gain little from a mapping. In a small memory cgroup they
// cost: the system counts a question and a mapped read as a second use of a page, and keeps it. A
// pass over twice the memory took 1.4 to 2 times as long.
func (p *Pages) lookAhead(h Host, off, n int64) {
	r := p.begin()
	first := r.asked.Swap(off+AheadBytes) == 0
	if !account.Affords(0) {
		return
	}
	size, mapped := h.Size(off-1), h.MapsTo(off+1) // at the end of the file, which short laps meet again and again, its length is not asked
	end, rest := min((off+AheadBytes)>>blockBits<<blockBits, size), min(size-off, 4*AheadBytes)
	if end <= off {
		return
	}
	saves, faults := rest*prices.Call.Now()/n, rest>>blockBits+1
	costs := faults * (prices.Fault.Now() + prices.EndOfBlock())
	if !mapped {
		costs += prices.Mapping()
	}
	pays := saves > costs || account.IsUnbound()
	if !pays && saves > faults*(prices.Fault.First+prices.End.First) && off >= r.fell.Load() {
		// It would pay at lower prices. Not in each lap: they would be believed to be low, whatever is measured.
		r.fell.Store(off + AheadBytes)
		prices.Fault.Fall()
		prices.End.Fall()
	}
	if !pays && (rest < AheadBytes || !first && end%(4*AheadBytes) >= AheadBytes) { // what the system may be told is worth few questions
		return
	}
	from, asks := off, int64(2*askCalls) // of eight blocks
	if !pays {                           // one tells whether they come from the disk
		from, asks = max(off, end-BlockSize), askCalls
	}
	in, err := h.InMemory(from, end)
	account.Spend(asks * prices.Call.Now())
	switch {
	case err != nil:
	case !in:
		h.InOrder(true)
		r.asked.Store(math.MaxInt64) // the disk may read far ahead, and what is read once gains little
	case pays && (mapped || r.mapFile(h)):
		r.asked.Store(end)
		var l loads
		for off < end {
			to := min((off>>blockBits+1)<<blockBits, end)
			took := int64(h.Load(off))
			if took == 0 {
				break
			}
			l.add(p.word(off>>blockBits).Load(), took)
			p.Note(Ready, off, to-off)
			off = to
		}
		r.payLoads(l)
	}
}
