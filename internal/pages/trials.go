package pages

import (
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
)

// The prices.
var (
	callPrice     = account.Price{First: firstCall} // a read of 64 bytes by system call that is hot, of which mapping saves nearly all
	writePrice    = account.Price{First: 1_000}     // a small write by system call
	faultPrice    = account.Price{First: 1_000}     // the first load in a block: 720 with large folios, 4,280 with small ones
	prefaultPrice = account.Price{First: 1_000}     // prefaulting a block: 1,500 to 100,000
	mappingPrice  = account.Price{First: 10_000}    // a mapping, and its end
)

const (
	firstCall   = 430   // a read of 64 bytes by system call
	recordPrice = 30    // a call that is recorded, above what each may cost, if its word is in no cache
	askPrice    = 890   // the question what is in memory: two system calls
	cachePrice  = 430   // and whether a block is in memory, or being read: one
	placePrice  = 20    // a place that is added to a table
	firstPage   = 64    // a page of a long call, until it is measured
	periodPrice = 2_800 // a period of mapped writes: fstat, a timer, and the new modification time
)

// writeCall returns what a write by system call takes without its bytes.
func writeCall() int64 { return max(callPrice.Now(), writePrice.Measured()) }

// readCall returns what a short read by system call takes. Where some are far dearer than a hot one, others may not be:
// so no more than twice that, and they earn no more than a 32nd.
func readCall() int64 {
	hot := callPrice.Now()
	return max(hot, min(readPrices.of(1).Measured(), 2*hot))
}

// payFaults spends what the first loads of n blocks took. One that takes less than a system call is no
// measure: the block was mapped already.
func payFaults(took, n int64) { account.Spend(faultPrice.Measure(max(took, n*callPrice.Now()), n)) }

// waits is for how many looks no records are paid, because a trial waits for the account: waitLooks from the
// last time that it was to be made.
var waits atomic.Int64

// looks counts the calls of look, to measure callPrice.
var looks atomic.Int64

// look is called once for LookEvery system calls of a file. off is the offset of a byte that the last
// one has read or written, and price is what they are believed to take.
func look(h Host, off, price int64) {
	const measureEvery = 64 // looks, since it follows by a quarter: three calls of 2,048
	account.Earn(LookEvery * price / incomeShare)
	evictions.Look()
	if looks.Add(1)%measureEvery == 0 || callPrice.Measured() == 0 {
		if took := h.TimeCall(off); took > 0 {
			callPrice.Measure(int64(took), 1)
		}
	}
}

// BeginsPeriod reports whether a mapped write may begin a period, and pays for it.
func BeginsPeriod() bool {
	if !account.Affords(0) {
		return false
	}
	account.Spend(periodPrice)
	return true
}

// mapFile maps the file, and reports whether it did. What its end takes is paid, too: 6.1 microseconds after 3.8.
func mapFile(h Host) bool {
	price := mappingPrice.Now()
	took, ok := h.Map()
	if !ok {
		account.Spend(min(int64(took), price))
		return false
	}
	account.Spend(price)
	mappingPrice.Measure(int64(took)*5/2, 1)
	return true
}
