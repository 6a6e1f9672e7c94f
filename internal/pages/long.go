package pages

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile/internal/account"
)

// A long read of a hot file may take longer from the mapping than by system call: from large folios, the system copies
// 40 KiB in 0.9 to 1 times the time. So what a page takes is measured both ways, for each size: of a short read, most
// is the call.

// sizes has the prices of a page in calls of 8, 16, 32… KiB, and of 4 MiB and more.
type sizes [10]account.Price

var (
	readPage  sizes // by system call
	copyPage  sizes // from the mapping
	writePage sizes // by system call, of more than a page
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

// Times reports whether the next call by system call, of n bytes at off, is to be timed, for Took. Reads of pages that
// are ready do not wait for the disk, and others mostly do not if all were seen: those are the first two measures.
func (p *Pages) Times(off int64, n int, writes bool) bool {
	state := p.state.Load()
	if state&recorded == 0 || state>>callsShift%LookEvery != 0 || n < Long && !writes {
		return false
	}
	return writes || p.MayRead(off, n) || !readPage.of(int64(n)).MeasuredTwice() && p.Seen(off, n)
}

// Took records what a call of n bytes has taken that was made so.
func (p *Pages) Took(how How, n int64, took time.Duration) {
	switch {
	case how == TimedCopy:
		copyPage.of(n).Measure(int64(took), n>>PageBits)
	case how != Write:
		readPage.of(n).Measure(int64(took)-callPrice.Now(), n>>PageBits)
	case n <= PageSize:
		writePrice.Measure(int64(took)-n/64, 1)
	default:
		writePage.of(n).Measure(int64(took)-writeCall(), (n+PageSize-1)>>PageBits)
	}
	if how == TimedRead { // it counted as a copy, and has saved nothing: an error of one in 64
		p.begin().countCalls(Slower, 1)
	}
}

// copyPays reports whether a read of n bytes takes no longer from the mapping. A test whose account has no limit is
// not to depend on that.
func copyPays(n int64) bool {
	return n < Long || copyPage.bytes(n) <= callPrice.Now()+readPage.bytes(n) || Eager || always || account.IsUnbound()
}

// copySaves returns what the bytes of a read save from the mapping.
func copySaves(n int64) int64 {
	if n < Long {
		return 0
	}
	return readPage.bytes(n) - copyPage.bytes(n)
}

// vainPrice returns what a call of n bytes by the mapping takes that is then repeated by system call.
func vainPrice(n int64) int64 { return 50 + copyPage.bytes(n) }

// How is how a call is made.
type How int

const (
	System    How = iota // a read by system call
	Copy                 // a read from the mapping
	TimedCopy            // one that is to be timed, for Took
	TimedRead            // a read by system call in place of a copy, for Took
	Write                // a write by system call
)

// random draws a number. The simulation has its own.
var random = rand.Uint32

// DrawHow draws how a read of n bytes is made if its pages are ready.
func DrawHow(n int) How {
	if n < Long {
		return Copy
	}
	return drawLong(int64(n))
}

// drawLong is DrawHow of long reads. The prices must be known of files as they are read now, so some reads are made the
// other way, and timed. By chance no period of a program is missed. Beside the longest copies, the clock costs nothing.
func drawLong(n int64) How {
	switch pays, r := copyPays(n), random()%256; {
	case !pays && r > 0:
		return System
	case pays && r < 4 && !always:
		return TimedRead
	case r < 20 || n >= 512<<10:
		return TimedCopy
	}
	return Copy
}

// Measured returns what a page of a read of n bytes has taken, by system call and from the mapping, and of such
// a write, or 0. It is for tests of other packages.
func Measured(n int64) (read, copied, write int64) {
	return readPage.of(n).Measured(), copyPage.of(n).Measured(), writePage.of(n).Measured()
}
