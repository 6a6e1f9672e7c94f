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
	price, short, share := prices.OfRead(n), prices.OfShortRead(), int64(longReadShare)
	if how == Write {
		price, short, share = prices.OfWrite(n), prices.OfWrite(0), longWriteShare
	}
	most := short + prices.OfHotBytes(n)
	if r := p.rec.Load(); r != nil {
		if own := r.own(how, n); own > 0 {
			most = own
		}
	}
	account.Earn(max(min(price, most)-short, 0) / share)
}

// TimesWrite reports whether the next write by system call, of n bytes, is to be timed, for Took, if it may be mapped
// later.
func (p *Pages) TimesWrite(n int) bool {
	state := p.state.Load()
	return state&recorded != 0 && state>>callsShift%LookEvery == 0 || p.begin().own(Write, int64(n)) == 0
}

// own returns what the last call of the size of n bytes that was timed in this file takes by system call, or 0. The price
// may be that of another file, whose bytes were in no cache.
func (r *record) own(how How, n int64) int64 {
	return int64(r.ownUnit(how, n).Load()) * prices.Units(n)
}

func (r *record) setOwn(how How, n, ns int64) {
	r.ownUnit(how, n).Store(uint32(min((ns+prices.Units(n)-1)/prices.Units(n), math.MaxUint32)))
}

func (r *record) ownUnit(how How, n int64) *atomic.Uint32 {
	if how == Write {
		return &r.took[1][prices.Size(n)]
	}
	return &r.took[0][prices.Size(n)]
}

// Took records what a call of n bytes has taken that was made so. took is 0 if it is no measure: a long read may have
// waited for the disk if its pages were evicted after they were seen. For a short one nothing is asked, because the
// question reads a byte of it, and what is timed would find its bytes in the caches of the processor. One that takes as
// long as 16 hot ones has waited.
func (p *Pages) Took(how How, n int64, took time.Duration) {
	ns := int64(took)
	switch how {
	case TimedCopy:
		if loss := ns - prices.OfRead(n); loss > 0 && n >= Long && !prices.Known(n) { // Saves told none
			account.Spend(min(loss, prices.OfRead(n))) // what takes more than twice as long has waited
		}
		prices.TookCopy(n, ns)
		return
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

// copyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func copyPays(n int64) bool {
	return n < Long || prices.Saves(n, math.MaxInt64) >= 0 || always || account.IsUnbound()
}

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

// draw is Draw if the front does not tell. The prices must be known of files as they are read now. So one of 256 copies is
// a timed system call, and of the others one of 16 is timed. Of four short ones, one is counted for all. Where copies take
// longer, one of dearEvery system calls is a copy, or is timed. Of a size that is not known, two reads and two copies come
// first, and one read in each file. Of short reads all that is only while the account is not full. It is drawn, so that no
// period of a program is missed.
func (p *Pages) draw(off int64, n int, counts bool) How {
	pays := copyPays(int64(n))
	if !pays && random()%dearEvery > 0 || !p.Ready(off, n) { // drawn first, since a look at the words costs more
		return System
	}
	counts = counts && account.Counting()
	if account.IsUnbound() || n < Long && !counts {
		return Copy
	}
	const timeOne, countOne = 16, 4
	r, how := random(), Copy
	own, known := p.begin().own(TimedRead, int64(n)), prices.Known(int64(n)) || always
	switch {
	case pays && (r%256 == 0 || !prices.ReadsKnown(int64(n)) || own == 0) && !always, !pays && r%2 == 0:
		return TimedRead
	case n >= Long && !known && !account.Affords(0): // it may take longer, which is spent
		return System
	case !pays || !known || r%timeOne == 1:
		how = TimedCopy
	}
	switch {
	case !counts:
	case n >= Long:
		account.Earn(prices.Saves(int64(n), own))
	case r%countOne == 1:
		account.Earn(countOne * prices.Saves(int64(n), own))
	}
	return how
}
