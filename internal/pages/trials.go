package pages

import (
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/prices"
)

// What trials take that are not measured, in system calls.
const (
	askCalls    = 2 // the question what of a block is in memory
	periodCalls = 6 // a period of mapped writes: fstat, a timer, and the new modification time
)

// trialWaits is for how many looks no records are paid, because a mapping or a prefault waits for the account: waitLooks
// from the last time that it was to be made.
var trialWaits atomic.Int64

// looks counts the calls of look, to measure prices.Call.
var looks atomic.Int64

// look is called once for LookEvery system calls of a file. off is the offset of a byte that the last
// one has read or written, and price is what they are believed to take.
func look(h Host, off, price int64) {
	const measureEvery = 64 // looks, since it follows by a quarter: three calls of 2,048
	account.Earn(LookEvery * price / incomeShare)
	evictions.Look()
	if looks.Add(1)%measureEvery == 0 || !prices.Call.Known() {
		switch took := int64(h.TimeCall(off)); {
		case took == 0:
		case prices.Call.Measured() == 0:
			prices.Call.Begin(took) // in full: the fastest of three ran code that was in the caches
		default:
			prices.Call.Measure(took, 1)
		}
	}
}

// BeginsPeriod reports whether a write may begin a period of mapped ones, and pays for it. asked counts those for which the
// account could pay, this one included, since the last mapped write. After an eighth of periodEvery few may: a program that calls Stat
// after each write, or writes seldom, has no use for a period.
func BeginsPeriod(asked func() uint32) bool {
	if !account.Affords(0) {
		return false
	}
	if n := asked(); n > periodEvery/8 && n%periodEvery != 0 {
		return false
	}
	account.Spend(periodCalls * prices.Call.Now())
	return true
}

// mapFile maps the file, and reports whether it did. Its end is paid, too. If it fails, and no other call held the
// file, the next one waits about as many calls as a block of which a load failed: there may be no address space.
func (r *record) mapFile(h Host) bool {
	if r.credit.Load() < 0 { // reads in order ask, of which none may come back
		r.credit.Add(LookEvery)
		return false
	}
	price := prices.Mapping()
	took, ok := h.Map()
	if !ok {
		account.Spend(min(int64(took), price))
		if took > 0 {
			r.credit.Store(-readsMax)
		}
		return false
	}
	account.Spend(price)
	prices.Map.Measure(int64(took), 1)
	return true
}

// loads are the first ones of blocks: the faults among them, which took so long, and the ends that they will have.
type loads struct{ took, faults, ends int64 }

// add adds a load in a block, whose word was w before. A first load that takes less than half a system call, or 215 ns where
// that takes long, is no fault: a proof or a prefault had mapped the block. It is paid at once. After a fault, all first loads
// count with it, because the fault of a large folio maps several blocks.
func (l *loads) add(w uint64, took int64) {
	first := w&ready == 0
	if first {
		l.ends++
	}
	if first && (l.faults > 0 || took >= min(prices.Call.Now(), prices.Call.First)/2) {
		l.took += took
		l.faults++
	} else {
		account.Spend(min(took, 2*prices.Fault.Now()))
	}
}

// payLoad pays for one load. See add.
func (r *record) payLoad(w uint64, took int64) {
	var l loads
	l.add(w, took)
	r.payLoads(l)
}

// payLoads pays for the faults, and for all the ends. A block that the fault of another one has mapped pays what Close
// measured: how long that fault took says nothing of it.
func (r *record) payLoads(l loads) {
	if l.faults > 0 {
		counts, least := prices.Fault.Measure(l.took, l.faults), int64(0)
		account.Spend(counts)
		if l.faults > 1 { // a single one may have waited for a processor
			least = counts / l.faults / 2
		}
		r.payEnds(l.faults, max(prices.EndOfBlock(), least))
	}
	r.payEnds(l.ends-l.faults, prices.End.Now())
}

// payEnds pays for unmapping n blocks, so much for each.
func (r *record) payEnds(n, price int64) {
	account.Spend(n * price)
	r.loaded.Add(n)
}
