package pages

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile/internal/account"
)

// What a read saves from the mapping depends on the file. A long one of a hot file may take longer: from large folios,
// the system copies 40 KiB in 0.9 to 1 times the time. A short one at random saves more than a hot one, and its copy
// takes longer, too. So both are measured: of long reads what a page takes, for each size, and of short ones the whole.

// sizes has the prices of a page in calls of 8, 16, 32… KiB, and of 4 MiB and more.
type sizes [10]account.Price

var (
	readPage  sizes // by system call
	copyPage  sizes // from the mapping
	writePage sizes // by system call, of more than a page

	shortRead = account.Price{First: firstCall} // of less than Long, that are ready
	shortCopy = account.Price{First: firstCopy}
)

// of returns the price for calls of n bytes.
func (s *sizes) of(n int64) *account.Price {
	return &s[min(bits.Len64(uint64(n)>>14), len(s)-1)]
}

func init() {
	for i := range readPage {
		readPage[i].First, copyPage[i].First, writePage[i].First = firstPage, firstPage, firstPage
	}
}

// bytes returns what the bytes of a call of n bytes take.
func (s *sizes) bytes(n int64) int64 { return n >> PageBits * s.of(n).Now() }

// earnBytes adds a share of what the bytes of a long call by system call take.
func earnBytes(n int64, writes bool) {
	price := &readPage
	if writes {
		price = &writePage
	}
	account.Earn(price.bytes(n) / incomeShare)
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
	switch {
	case took == 0: // no measure
	case how == TimedCopy && n < Long:
		shortCopy.Measure(int64(took), 1)
	case how == TimedCopy:
		copyPage.of(n).Measure(int64(took), n>>PageBits)
	case how == TimedRead && n < Long:
		shortRead.Measure(int64(took), 1)
	case how != Write:
		readPage.of(n).Measure(int64(took)-callPrice.Now(), n>>PageBits)
	case n <= PageSize:
		writePrice.Measure(int64(took)-n/64, 1)
	default:
		writePage.of(n).Measure(int64(took)-writeCall(), (n+PageSize-1)>>PageBits)
	}
	if how == TimedRead {
		p.begin().countCalls(Slower, 1)
	}
}

// copyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func copyPays(n int64) bool {
	return n < Long || saves(n) >= 0 || always || account.IsUnbound()
}

// saves returns what a read of n bytes saves from the mapping.
func saves(n int64) int64 {
	switch {
	case n >= Long:
		return callPrice.Now() + readPage.bytes(n) - copyPage.bytes(n)
	case shortRead.MeasuredTwice() && shortCopy.MeasuredTwice():
		return min(shortRead.Now()-shortCopy.Now(), 2*callPrice.Now())
	}
	return callPrice.Now() - n/64 // it may take longer to copy them
}

// vainPrice returns what a call of n bytes by the mapping takes that is then repeated by system call.
func vainPrice(n int64) int64 {
	if n < Long {
		return 50 + max(shortCopy.Now(), n/64)
	}
	return 50 + copyPage.bytes(n)
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

// DrawUncounted is Draw for a read that saves no system call.
func (p *Pages) DrawUncounted(off int64, n int) How { return p.draw(off, n, false) }

// draw is Draw if the front does not tell. The prices must be known of files as they are read now. So some reads are
// timed, and some are made the other way; of short reads only while the account is not full. They are drawn, so that no
// period of a program is missed. Of the longest copies all are timed, because the clock costs nothing beside them.
func (p *Pages) draw(off int64, n int, counts bool) (how How) {
	if !p.Ready(off, n) {
		return System
	}
	counts = counts && account.Counting()
	if n < Long && (!counts || account.IsUnbound()) {
		return Copy
	}
	pays, reads, copies := copyPays(int64(n)), uint32(8), uint32(32) // of 512
	switch {
	case n < Long:
		reads, copies = 1, 4
	case !pays: // Times tells what reads take
		reads, copies = 0, 2
	}
	switch r := random() % 512; {
	case r < reads && !always && !account.IsUnbound():
		return TimedRead
	case r < reads+copies || n >= 512<<10 && pays:
		how = TimedCopy
	case !pays:
		return System
	default:
		how = Copy
	}
	if counts {
		const every = 16 // short reads
		switch k := p.begin().saved.Add(1); {
		case n >= Long:
			account.Earn(saves(int64(n)))
		case k%every == 0:
			account.Earn(every * saves(int64(n)))
		}
	}
	return how
}

// Measured returns what a page of a read of n bytes has taken, by system call and from the mapping, and of such
// a write, or 0. It is for tests of other packages.
func Measured(n int64) (read, copied, write int64) {
	return readPage.of(n).Measured(), copyPage.of(n).Measured(), writePage.of(n).Measured()
}
