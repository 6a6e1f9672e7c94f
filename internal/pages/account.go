package pages

import (
	"sync/atomic"
	"time"
)

// account is what trying may cost the process by now, in nanoseconds. See the package comment.
var account atomic.Int64

// waits is for how many looks no records are paid, because a trial waits for the account: waitLooks from the
// last time that it was to be made.
var waits atomic.Int64

func init() { account.Store(accountStart) }

// epoch has what makes the front of a file void:
//
//	bit  0     the account is not full, so mapped calls are counted
//	bits 1–31  the generation, which is incremented when what is known of all pages becomes void
var epoch atomic.Uint32

const counting = 1

func init() { epoch.Store(counting) }

// earn adds what system calls allow, or mapped calls have saved.
func earn(ns int64) {
	for {
		old := account.Load()
		if old >= accountMax {
			epoch.And(^uint32(counting))
			return
		}
		if account.CompareAndSwap(old, min(old+ns, accountMax)) {
			return
		}
	}
}

// spend subtracts what a trial took.
func spend(took int64) {
	account.Add(-took)
	if epoch.Load()&counting == 0 {
		epoch.Or(counting)
	}
}

// affords reports whether the account has more than ns nanoseconds.
func affords(ns int64) bool { return account.Load() > ns }

// price is what an event takes in this process, in nanoseconds. It is measured, because hosts differ by twenty.
type price struct {
	first int64           // until it is measured
	usual atomic.Int64    // of the last ones, by weights that fall
	last  [2]atomic.Int64 // what the last ones took
}

// The prices.
var (
	callPrice     = price{first: firstCall} // a read of 64 bytes by system call that is hot, of which mapping saves nearly all
	writePrice    = price{first: 1_000}     // a small write by system call
	faultPrice    = price{first: 1_000}     // the first load in a block: 720 with large folios, 4,280 with small ones
	prefaultPrice = price{first: 1_000}     // prefaulting a block: 1,500 to 100,000
	mappingPrice  = price{first: 10_000}    // a mapping, and its end
)

const (
	firstCall   = 430   // a read of 64 bytes by system call
	recordPrice = 30    // a call that is recorded, above what each may cost, if its word is in no cache
	askPrice    = 890   // the question what is in memory: two system calls
	placePrice  = 20    // a place that is added to a table
	firstPage   = 64    // a page of a long call, until it is measured
	periodPrice = 2_800 // a period of mapped writes: fstat, a timer, and the new modification time
)

func (p *price) now() int64 {
	if ns := p.usual.Load(); ns > 0 {
		return ns
	}
	return p.first
}

// measure moves the price towards what n events in a row took, and returns what of that counts. They may have
// waited for a processor: so no more counts than four microseconds each, or twice what one of the last two
// took, and the price rises by a quarter at most, and not above what the last ones took.
func (p *price) measure(took, n int64) int64 {
	old, last := p.usual.Load(), p.last[0].Swap(took/n)
	before := p.last[1].Swap(last)
	if old == 0 {
		took = min(took, accountStart/2) // the first one of a process runs code that is in no cache
		old, last = min(p.first, took/n), took/n
	}
	took = min(took, max(2*last, 2*before, accountStart/16)*n, accountMax/2)
	p.usual.Store(max(old+min((min(took/n, last)-old)/4, old/4+1), 1))
	return took
}

// bytes returns what n bytes take, if p is the price of a page.
func (p *price) bytes(n int64) int64 { return n >> PageBits * p.now() }

// writeCall returns what a write by system call takes without its bytes.
func writeCall() int64 { return max(callPrice.now(), writePrice.usual.Load()) }

// fall lowers a price that forbids what would measure it, if it is higher than expected.
func (p *price) fall() {
	if now := p.now(); now > p.first {
		p.usual.Store(now - (now-p.first)/8)
	}
}

// payFaults spends what the first loads of n blocks took. One that takes less than a system call is no
// measure: the block was mapped already.
func payFaults(took, n int64) { spend(faultPrice.measure(max(took, n*callPrice.now()), n)) }

// looks counts the calls of look, to measure callPrice.
var looks atomic.Int64

// look is called once for LookEvery system calls of a file. off is the offset of a byte that the last
// one has read or written, and price is what they are believed to take.
func look(h Host, off, price int64) {
	const measureEvery = 64 // looks, since it follows by a quarter: three calls of 2,048
	earn(LookEvery * price / incomeShare)
	Look()
	if looks.Add(1)%measureEvery == 0 || callPrice.usual.Load() == 0 {
		if took := h.TimeCall(off); took > 0 {
			callPrice.measure(int64(took), 1)
		}
	}
}

// BeginsPeriod reports whether a mapped write may begin a period, and pays for it.
func BeginsPeriod() bool {
	if !affords(0) {
		return false
	}
	spend(periodPrice)
	return true
}

// mapFile maps the file, and reports whether it did.
func (t *table) mapFile(h Host) bool {
	price := mappingPrice.now()
	took, ok := h.Map()
	if !ok {
		spend(min(int64(took), price))
		return false
	}
	spend(price)
	t.paid.Add(uint32(price))
	t.mapTook.Add(uint32(took))
	return true
}

// Unmapped records what the end of the file's mapping has taken, and corrects what was paid for it.
func (p *Pages) Unmapped(took time.Duration) {
	t := p.table.Load()
	if t == nil {
		return
	}
	paid, all := int64(t.paid.Swap(0)), int64(t.mapTook.Swap(0))+int64(took)
	if paid == 0 {
		return // a caller has asked for the mapping
	}
	spend(mappingPrice.measure(all, 1) - paid)
}

// Unbound gives the process an account that no program exhausts. It is for tests of other packages,
// which share a process.
func Unbound() { account.Store(1 << 60) }
