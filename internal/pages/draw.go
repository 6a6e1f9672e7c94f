package pages

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// earn adds a share of what a long call of n bytes by system call is believed to take in this file more than a short one,
// which look counts: no more than in the last one that was timed, or in a hot file, if none of that size was.
func (p *Pages) earn(how How, n int64) {
	price, short := prices.OfRead(n), prices.OfShortRead()
	if how == Write {
		price, short = prices.OfWrite(n), prices.OfWrite(0)
	}
	most := short + prices.OfHotBytes(n)
	if r := p.rec.Load(); r != nil {
		if own := r.own(how, n); own > 0 {
			most = own
		}
	}
	account.Earn(max(min(price, most)-short, 0) / longShare)
}

// TimesWrite reports whether the next write by system call, of n bytes, is to be timed, for Took, if it may be mapped
// later.
func (p *Pages) TimesWrite(n int) bool {
	state := p.state.Load()
	return state&recorded != 0 && state>>callsShift%LookEvery == 0 || p.begin().own(Write, int64(n)) == 0
}

// own returns what the last timed call of the size of n bytes took in this file, or 0. The price may be that of another
// file, whose bytes were in no cache, or whose folios are small.
func (r *record) own(how How, n int64) int64 {
	return int64(r.ownUnit(how, n).Load()) * prices.Units(n)
}

// Measured returns what the last timed reads of the size of n bytes took in this file, by system call and from the mapping,
// or 0. It is for tests.
func (p *Pages) Measured(n int64) (read, copied int64) {
	return p.begin().own(TimedRead, n), p.begin().own(TimedCopy, n)
}

// setOwn records what a call took, for own. It rises by a quarter at most, since the call may have waited for a processor. What
// a system call takes falls by no more, either: it may be one of few that found their bytes in the caches.
func (r *record) setOwn(how How, n, ns int64) {
	if before := r.own(how, n); before > 0 {
		if ns = min(ns, before+before/4+1); how == TimedRead {
			ns = max(ns, before-before/4)
		}
	}
	r.ownUnit(how, n).Store(uint32(min((ns+prices.Units(n)-1)/prices.Units(n), math.MaxUint32)))
}

func (r *record) ownUnit(how How, n int64) *atomic.Uint32 {
	return &r.took[how-TimedCopy][prices.Size(n)]
}

// Took records what a call of n bytes has taken that was made so. took is 0 if it is no measure: a long read may have
// waited for the disk if its pages were evicted after they were seen. For a short one nothing is asked, because the
// question reads a byte of it, and what is timed would find its bytes in the caches of the processor. One that takes as
// long as 16 hot ones has waited.
func (p *Pages) Took(how How, n int64, took time.Duration) {
	ns := int64(took)
	switch how {
	case TimedCopy:
		if loss := ns - prices.OfRead(n); loss > 0 && n >= Long && p.begin().own(how, n) == 0 { // a trial
			account.Spend(min(loss, prices.OfRead(n))) // what takes more than twice as long has waited
		}
	case Write:
		prices.TookWrite(n, ns)
	default:
		if n < Long && ns > 16*prices.Call.Now() { // it has waited
			ns = 0
		}
		prices.TookRead(n, ns)
		if ns == 0 {
			ns = prices.OfRead(n)
		}
		p.begin().calls.Add(reason.Slower, 1)
	}
	p.begin().setOwn(how, n, max(ns, 1))
}

// saving returns what a read of n bytes saves from the mapping in this file, and whether that is known. A gain is one by the
// price of a system call at most, since the last one may have waited. No short copy loses: if one seems to, it was a fault.
func (p *Pages) saving(n int64) (ns int64, known bool) {
	r := p.rec.Load()
	if r == nil {
		return 0, false
	}
	own, copied := r.own(TimedRead, n), r.own(TimedCopy, n)
	known = own > 0 && copied > 0
	switch {
	case n < Long:
	case !known:
		return 0, false
	case own < copied:
		return own - copied, true
	}
	return max(min(prices.OfRead(n), max(own, prices.Call.Now()))-copied, 0), known
}

// copyPays reports whether a read that saves ns is copied. A test whose account has no limit is not to depend on that.
func copyPays(ns int64) bool { return ns >= 0 || account.IsUnbound() }

// How is how a call is made.
type How int

const (
	System    How = iota // a read by system call
	Copy                 // a read from the mapping
	TimedCopy            // one that is to be timed, for Took
	TimedRead            // a read by system call, for Took
	Write                // a write by system call
)

// random draws a number. The simulation has its own.
var random = rand.Uint32

// draw is Draw if the front does not tell. What calls take must be known of the file as it is read now. So one of 256 copies
// is a timed system call, and of the others one of 16 is timed. Of two short ones, one is counted for both. Where copies take
// longer, one of dearEvery reads is timed, as a copy or by system call. Of a size that is not known in the file, a read
// and a copy come first. Of short reads all that is only while the account is not full. It is drawn, so that no period of a
// program is missed.
func (p *Pages) draw(off int64, n int, counts bool) How {
	if always {
		return Copy
	}
	saves, known := p.saving(int64(n))
	pays := copyPays(saves)
	if !pays && random()%dearEvery > 0 || !p.Ready(off, n) { // drawn first, since a look at the words costs more
		return System
	}
	counts = counts && account.Counting()
	if account.IsUnbound() || n < Long && !counts {
		return Copy
	}
	const timeOne, countOne = 16, 2
	r, how := random(), Copy
	switch {
	case pays && (r%256 == 0 || !prices.ReadsKnown(int64(n)) || p.begin().own(TimedRead, int64(n)) == 0), !pays && r%2 == 0:
		return TimedRead
	case n >= Long && !known && !account.Affords(0): // it may take longer, and prove nothing
		return System
	case !pays || !known || r%timeOne == 1:
		how = TimedCopy
	}
	switch {
	case saves < 0:
		account.Spend(-saves)
	case !counts:
	case n >= Long:
		account.Earn(saves)
	case r%countOne == 0:
		account.Earn(countOne * saves)
	}
	return how
}
