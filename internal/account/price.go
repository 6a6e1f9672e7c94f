package account

import "sync/atomic"

// Price is what an event takes in this process, in nanoseconds. It is measured, because hosts differ by twenty.
type Price struct {
	First int64           // until it is measured
	usual atomic.Int64    // of the last ones, by weights that fall
	last  [2]atomic.Int64 // what the last ones took
}

// Now returns the price.
func (p *Price) Now() int64 {
	if ns := p.usual.Load(); ns > 0 {
		return ns
	}
	return p.First
}

// Measured returns the price, or 0 if no event was measured.
func (p *Price) Measured() int64 { return p.usual.Load() }

// Known reports whether two events were measured.
func (p *Price) Known() bool { return p.last[1].Load() > 0 }

// Measure moves the price towards what n events in a row took, and returns what of that counts. They may have
// waited for a processor: so no more counts than four microseconds each, or twice what one of the last two
// took, and never more than half of Max. The price is what one of the first two took, and no more than expected
// after the first. Then it moves by a quarter towards the less of the last two, but rises by a quarter of itself at
// most.
func (p *Price) Measure(took, n int64) int64 {
	took = max(took, n)
	last := p.last[0].Swap(took / n)
	before := p.last[1].Swap(last)
	if last == 0 {
		p.usual.Store(min(took/n, p.First))
		return min(took, Start/2) // the first one of a process runs code that is in no cache
	}
	each := min(took/n, max(2*last, 2*before, Start/16), Max/2)
	least, old := min(each, last), p.usual.Load()
	if before == 0 {
		old = least
	}
	p.usual.Store(max(old+min((least-old)/4, old/4+1), 1))
	return each * n
}

// Begin makes ns the price, without a limit, until the next event is measured.
func (p *Price) Begin(ns int64) {
	p.usual.Store(ns)
	p.last[0].Store(ns)
}

// Fall lowers a price that forbids what would measure it, if it is higher than expected.
func (p *Price) Fall() {
	if now := p.Now(); now > p.First {
		p.usual.Store(now - (now-p.First)/8)
	}
}

// Set makes ns the price, as if two events had taken that, or forgets it if ns is 0. It is for tests.
func (p *Price) Set(ns int64) {
	p.usual.Store(ns)
	p.last[0].Store(ns)
	p.last[1].Store(ns)
}
