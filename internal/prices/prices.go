// Package prices has what calls and trials take in this process: hosts differ by a factor of twenty.
//
// A call has a price for each size. What a read saves from the mapping depends on the file, and package pages keeps that for
// each file. A long one of a hot file may take longer: from large folios, the system copies 40 KiB in 0.9 to 1 times the
// time. A short one at random saves more than a hot one.
package prices

import (
	"math/bits"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
)

// Prices that are measured as things happen.
var (
	Call     = account.Price{First: 430}   // a read of 64 bytes by system call that is hot, of which mapping saves nearly all
	Fault    = account.Price{First: 700}   // the first load in a block: 720 with large folios, 4,280 with small ones
	End      = account.Price{First: 400}   // unmapping a block: 360 to 4,000
	Prefault = account.Price{First: 1_000} // prefaulting a block: 1,500 to 100,000
	Map      = account.Price{First: 4_000} // mapping a file
	Unmap    = account.Price{First: 6_000} // and its end, without blocks: 5,000, or 23,000 if other processors have to know
)

// Prices that are not measured. All prices are in nanoseconds.
const (
	Record = 40 // a call that is recorded, above what each may cost, if its word is in no cache
	Place  = 20 // a place of a table that is moved to a larger one

	later     = 10_000 // of a mapping, what nothing times: memory, page tables, and what is in no cache any more
	firstPage = 64     // a page of a long call, until it is measured
)

// Write is the price of a small write by system call.
var Write = &writes[0]

// Small is the number of bytes from which on those of a write have a price.
const Small = 1 << 10

// Sizes is the number of sizes that have prices: of less than 1 KiB, of 1 KiB and more, of 2… and of 4 MiB and more.
const Sizes = 14

// sizes has the prices of calls of each size.
type sizes [Sizes]account.Price

var (
	reads  sizes // by system call; short ones as a whole, and of the others a page
	writes sizes // by system call; those of less than Long as a whole, and of the others a page, without the call
)

func init() {
	for i := range reads {
		reads[i].First, writes[i].First = firstPage, firstPage
	}
	Write.First = 1_000
}

// Reset forgets what was measured. It is for tests.
func Reset() {
	for _, p := range []*account.Price{&Call, &Fault, &End, &Prefault, &Map, &Unmap} {
		p.Set(0)
	}
	for i := range reads {
		reads[i].Set(0)
		writes[i].Set(0)
	}
}

// Mapping returns what a mapping takes, and its end. It is never so much that no account could pay it.
func Mapping() int64 { return min(Map.Now()+Unmap.Now()+later, account.Start) }

// EndOfBlock returns what unmapping a block takes: at least half of its load, since only Close measures it.
func EndOfBlock() int64 { return max(End.Now(), Fault.Now()/2) }

// of returns the price for calls of n bytes.
func (s *sizes) of(n int64) *account.Price { return &s[Size(n)] }

// Size returns which of the prices by size is that of calls of n bytes. It is 0 for less than 1 KiB.
func Size(n int64) int { return min(bits.Len64(uint64(n)>>10), Sizes-1) }

// take returns what a call of n bytes takes.
func (s *sizes) take(n int64) int64 { return Units(n) * s.of(n).Now() }

// Units returns the number of prices that a call of n bytes takes.
func Units(n int64) int64 {
	if n < Long {
		return 1
	}
	return n >> blocks.PageBits
}

// TookRead records what a read of n bytes has taken by system call. If took is 0, it is what is believed: so what is not
// known yet is not measured again and again.
func TookRead(n, took int64) {
	if took == 0 {
		took = OfRead(n)
	}
	reads.of(n).Measure(took/Units(n), 1)
}

// TookWrite records what a write of n bytes has taken by system call.
func TookWrite(n, took int64) {
	if n >= Long {
		took = (took - writeCall()) / Units(n)
	}
	writes.of(n).Measure(took, 1)
}

// writeCall returns what a write by system call takes without its bytes.
func writeCall() int64 { return max(Call.Now(), Write.Measured()) }

// OfWrite returns what a write of n bytes takes by system call.
func OfWrite(n int64) int64 {
	switch {
	case n < Small:
		return writeCall()
	case n < Long && writes.of(n).Known():
		return writes.take(n)
	}
	return writeCall() + writes.take(n)
}

// OfRead returns what a read of n bytes takes by system call.
func OfRead(n int64) int64 { return max(Call.Now(), reads.take(n)) }

// OfHotBytes returns what the bytes of a long call take at least by system call in most files.
func OfHotBytes(n int64) int64 { return Units(n) * firstPage }

// InVain returns what a copy of n bytes takes that nothing proves, and what it was believed to save: of a far file it takes
// longer than a system call of a hot one.
func InVain(n int64) int64 { return 5 * OfRead(n) / 2 }

// OfShortRead returns what a short read takes by system call that is not mapped. Where some are far dearer than a hot
// one, others may not be: so no more than twice that, and they earn no more than a 32nd.
func OfShortRead() int64 {
	hot := Call.Now()
	return max(hot, min(reads[0].Measured(), 2*hot))
}

// ReadsKnown reports whether two reads of such a size were measured.
func ReadsKnown(n int64) bool { return reads.of(n).Known() }

// Measured returns what a page of a read of n bytes has taken by system call, and of such a write, or 0. It is for tests.
func Measured(n int64) (read, write int64) { return reads.of(n).Measured(), writes.of(n).Measured() }
