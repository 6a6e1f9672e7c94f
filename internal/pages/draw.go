package pages

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/reason"
)

// What a read saves from the mapping depends on the file. A long one of a hot file may take longer: from large folios,
// the system copies 40 KiB in 0.9 to 1 times the time. A short one at random saves more than a hot one, and its copy
// takes longer, too. So both are measured.

// sizes has the prices of calls of less than 16 KiB, of 16 KiB and more, of 32… and of 4 MiB and more.
type sizes [10]account.Price

var (
	readPrices  sizes // by system call; short ones as a whole, and of the others a page, without the call
	copyPrices  sizes // from the mapping, and so
	writePrices sizes // a page of a write by system call, if it has more than one
)

// of returns the price for calls of n bytes.
func (s *sizes) of(n int64) *account.Price {
	return &s[min(bits.Len64(uint64(n)/Long), len(s)-1)]
}

func init() {
	for i := range readPrices {
		readPrices[i].First, copyPrices[i].First, writePrices[i].First = firstPage, firstPage, firstPage
	}
	readPrices[0].First = firstCall
}

// bytes returns what the bytes of a call of n bytes take.
func (s *sizes) bytes(n int64) int64 { return n >> pageBits * s.of(n).Now() }

// earnBytes adds a share of what the bytes of a long call by system call take.
func earnBytes(n int64, writes bool) {
	prices := &readPrices
	if writes {
		prices = &writePrices
	}
	account.Earn(prices.bytes(n) / incomeShare)
}

// Times reports whether the next call by system call, of n bytes at off, is to be timed, for Took. Of reads, only long
// ones of seen pages are, and half as many, because they need the question whether the pages are in memory.
func (p *Pages) Times(off int64, n int, writes bool) bool {
	state := p.state.Load()
	if state&recorded == 0 || state>>callsShift%LookEvery != 0 {
		return false
	}
	return writes || n >= Long && state>>callsShift%(2*LookEvery) == 0 && !account.IsUnbound() && p.Seen(off, n)
}

// Took records what a call of n bytes has taken that was made so. A long one may have waited for the disk if its pages
// were evicted after they were seen, and took is 0 then. For a short one nothing is asked, because the question reads a
// byte of it, and what is timed would find its bytes in the caches of the processor.
func (p *Pages) Took(how How, n int64, took time.Duration) {
	if how == TimedRead {
		p.begin().calls.Add(reason.Slower, 1)
		if took == 0 { // what is not known yet is not asked for again
			took = time.Duration(readPrices.of(n).Now()*units(n) + callPrice.Now())
		}
	}
	switch {
	case took == 0: // no measure
	case how == TimedCopy:
		copyPrices.of(n).Measure(int64(took)/units(n), 1)
	case how != Write && n < Long:
		readPrices.of(n).Measure(int64(took), 1)
	case how != Write:
		readPrices.of(n).Measure((int64(took)-callPrice.Now())/units(n), 1)
	case n <= PageSize:
		writePrice.Measure(int64(took)-n/64, 1)
	default:
		writePrices.of(n).Measure((int64(took)-writeCall())/((n+PageSize-1)>>pageBits), 1)
	}
}

// units returns the number of prices that a read of n bytes takes.
func units(n int64) int64 {
	if n < Long {
		return 1
	}
	return n >> pageBits
}

// copyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func copyPays(n int64) bool {
	return n < Long || saves(n) >= 0 || always || account.IsUnbound()
}

// saves returns what a read of n bytes saves from the mapping.
func saves(n int64) int64 {
	switch {
	case !measured(n):
		return callPrice.Now()
	case n < Long:
		return min(readPrices.of(n).Now()-copyPrices.of(n).Now(), 2*callPrice.Now())
	}
	return callPrice.Now() + readPrices.bytes(n) - copyPrices.bytes(n)
}

// measured reports whether reads and copies of such a size were.
func measured(n int64) bool {
	return readPrices.of(n).MeasuredTwice() && copyPrices.of(n).MeasuredTwice()
}

// vainPrice returns what a call of n bytes by the mapping takes that is then repeated by system call.
func vainPrice(n int64) int64 { return 50 + copyPrices.of(n).Now()*units(n) }

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

// draw is Draw if the front does not tell. The prices must be known of files as they are read now. So of 16 copies one
// is timed, and of 256 reads one is made the other way; of a size that is not known, two of each are first. Of short reads only
// while the account is not full. They are drawn, so that no period of a program is missed.
func (p *Pages) draw(off int64, n int, counts bool) How {
	if !p.Ready(off, n) {
		return System
	}
	counts = counts && account.Counting()
	if account.IsUnbound() || n < Long && !counts {
		return Copy
	}
	const every = 16
	r, how := random(), Copy
	switch pays, other := copyPays(int64(n)), r%256 == 0; {
	case pays && (other || n >= Long && !readPrices.of(int64(n)).MeasuredTwice()) && !always:
		return TimedRead
	case !pays && !other:
		return System
	case other || n >= Long && !measured(int64(n)) || r%every == 1:
		how = TimedCopy
	}
	switch {
	case !counts:
	case n >= Long:
		account.Earn(saves(int64(n)))
	case r%every == 1:
		account.Earn(every * saves(int64(n)))
	}
	return how
}

// Measured returns what a page of a read of n bytes has taken, by system call and from the mapping, and of such
// a write, or 0. It is for tests of other packages.
func Measured(n int64) (read, copied, write int64) {
	return readPrices.of(n).Measured(), copyPrices.of(n).Measured(), writePrices.of(n).Measured()
}
