package pages

import (
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// earn adds a share of what a long call of n bytes by system call takes more than a short one, which look counts.
func earn(n int64, writes bool) {
	if writes {
		account.Earn((prices.OfWrite(n) - prices.OfWrite(0)) / longWriteShare)
	} else {
		account.Earn(max(prices.OfRead(n)-prices.OfShortRead(), 0) / longReadShare)
	}
}

// TimesWrite reports whether the next write by system call, of n bytes, is to be timed, for Took, if it may be mapped
// later.
func (p *Pages) TimesWrite(n int) bool {
	state := p.state.Load()
	return state&recorded != 0 && state>>callsShift%LookEvery == 0 || !p.wasTimed(Write, int64(n))
}

// Compares reports whether a mapped write of n bytes that is to be timed is to be made by system call instead, and timed
// so. What long ones save is the difference of the two, and all of a file's may be mapped.
func (p *Pages) Compares(n int) bool {
	if n < Long || random()%compareEvery > 0 || always || account.IsUnbound() {
		return false
	}
	p.begin().timed.And(^timedBit(Write, int64(n)))
	return true
}

// wasTimed reports whether a call of the size was timed in this file: the price may be that of another one, whose bytes
// were in no cache.
func (p *Pages) wasTimed(how How, n int64) bool {
	return p.begin().timed.Load()&timedBit(how, n) != 0
}

// timedBit returns the bit of a size: a low one for reads, and a high one for writes.
func timedBit(how How, n int64) uint32 {
	bit := uint32(1) << prices.Size(n)
	if how == Write {
		bit <<= 16
	}
	return bit
}

// Took records what a call of n bytes has taken that was made so. took is 0 if it is no measure: a long read may have
// waited for the disk if its pages were evicted after they were seen. For a short one nothing is asked, because the
// question reads a byte of it, and what is timed would find its bytes in the caches of the processor.
func (p *Pages) Took(how How, n int64, took time.Duration) {
	switch how {
	case TimedCopy:
		prices.TookCopy(n, int64(took))
		return
	case Write:
		prices.TookWrite(n, int64(took))
		if n < prices.Small {
			p.begin().small.Measure(int64(took), 1)
		}
	default:
		prices.TookRead(n, int64(took))
		p.begin().calls.Add(reason.Slower, 1)
	}
	p.begin().timed.Or(timedBit(how, n))
}

// copyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func copyPays(n int64) bool {
	return n < Long || prices.Saves(n) >= 0 || always || account.IsUnbound()
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
// a timed system call, and of the others one of 16 is timed. Where copies take longer, one of dearEvery system calls is a
// copy, or is timed. Of a size that is not known, two reads and two copies come first, and one read in each file. Of
// short reads all that is only while the account is not full. It is drawn, so that no period of a program is missed.
func (p *Pages) draw(off int64, n int, counts bool) How {
	pays := copyPays(int64(n))
	if !pays && random()%dearEvery > 0 || !p.Ready(off, n) { // drawn first, since a look at the words costs more
		return System
	}
	counts = counts && account.Counting()
	if account.IsUnbound() || n < Long && !counts {
		return Copy
	}
	const every = 16
	r, how := random(), Copy
	switch {
	case pays && (r%256 == 0 || !prices.ReadsKnown(int64(n)) || !p.wasTimed(TimedRead, int64(n))) && !always, !pays && r%2 == 0:
		return TimedRead
	case !pays || !prices.Known(int64(n)) && !always || r%every == 1:
		how = TimedCopy
	}
	switch {
	case !counts:
	case n >= Long:
		account.Earn(prices.Saves(int64(n)))
	case r%every == 1:
		account.Earn(every * prices.Saves(int64(n)))
	}
	return how
}
