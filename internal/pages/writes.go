package pages

import (
	"math"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
	"go.dw1.io/mmapfile/internal/prices"
)

// The first mapped write to a page after each Sync is a fault, and some faults cost more than a pwrite.
// Prefaulting a block of pages in one call is far cheaper. So the writes of a block go through pwrite
// until they have taken as long as prefaulting it takes. Both are measured.

// Prefault prefaults the blocks of n bytes at off, which PrefaultedBefore has called due, if enough writes were counted in
// each. It does one after the other, while the account pays the price that the last one had, and reports whether all of
// them are done.
func (p *Pages) Prefault(h Host, off int64, n int) bool {
	end := off + int64(n)
	if !account.Affords(prices.Prefault.Now()) {
		trialWaits.Store(waitLooks)
		return false
	}
	r := p.begin()
	if !account.Affords(prices.Prefault.Now()+reserve(n)) || !r.wroteEnough(off, end) {
		return false // nothing waits for a reserve, which may be more than account.Max
	}
	all := true
	for block := (end - 1) >> blockBits; block >= off>>blockBits; block-- { // the last one first: the page after a block is its proof
		from, to := max(off, block<<blockBits), min(end, (block+1)<<blockBits)
		if p.has(prefaultedShift, from, int(to-from)) {
			continue
		}
		price := prices.Prefault.Now()
		if !account.Affords(price + reserve(n)) {
			return false
		}
		trialWaits.Store(0)
		if !p.Known(block<<blockBits, BlockSize) {
			account.Spend(prices.Call.Now()) // the Host asks whether all of it is in memory
		}
		mapped := p.Ready(from, int(to-from))
		took, ok := h.Prefault(from, to)
		w := r.Word(uint64(block))
		if w != nil {
			w.And(^uint64(writesMax << writesShift)) // a page that the file grows by has to be worth another one
		}
		if ok {
			account.Spend(r.tookPrefault(int64(took)))
			if !mapped { // else its end is paid
				r.payEnds(1, max(prices.EndOfBlock(), prices.Prefault.Now()/8))
			}
			continue
		}
		account.Spend(min(int64(took), 2*price))
		all = false
		if w != nil {
			w.And(^uint64(readsMax << readsShift))
			w.Or(waiting << readsShift)
		}
	}
	return all
}

// tookPrefault measures what a prefault took, and returns what of that counts. The last ones of the process may be those of
// another file, which are cheap: up to twice the last one of this file counts, too.
func (r *record) tookPrefault(took int64) int64 {
	counts := prices.Prefault.Measure(took, 1)
	counts = max(counts, min(took, 2*r.prefault.Load(), account.Max/2))
	r.prefault.Store(counts)
	return counts
}

// reserve returns what the account has to keep for a mapped write of n bytes, each page of which may be a fault because the
// system has written them back: two system calls a page, less half of what the account begins with. Shorter writes are
// timed before they have lost much.
func reserve(n int) int64 {
	if n <= reserveFrom {
		return 0
	}
	return int64(n)>>pageBits*2*max(prices.Call.Now(), prices.Call.First) - account.Start/2
}

// wroteEnough reports whether the writes of each block from off to end have taken as long as prefaulting it takes.
func (r *record) wroteEnough(off, end int64) bool {
	each := r.ofShortWrite(end - off) // shorter ones may have been counted, or the write be one of several blocks
	for block := off >> blockBits; block <= (end-1)>>blockBits && !Eager; block++ {
		w := r.Word(uint64(block))
		if w == nil {
			return false
		}
		mask, old := blocks.Mask(block, off, end), w.Load()
		writes := int64(old >> writesShift & writesMax) // no more than writesMax are counted
		if old>>prefaultedShift&mask != mask && writes < writesMax && writes*each < prices.Prefault.Now() {
			return false
		}
	}
	return true
}

// Writes counts the mapped writes of a part of a file. It is used with that part locked.
type Writes struct {
	n     uint16 // since the last one that was timed,
	least uint16 // the least of their sizes, if there are any,
	size  uint32 // and the sum, from a random one on, so that no period of a program's is missed
}

// TimeEvery is the number of mapped writes, of less than a page each, from one that is timed to the next at
// most. Without timing, writes to pages that are written back meanwhile stay page faults.
const TimeEvery = 16

// size is what a write of n bytes counts as: one that may be so many page faults.
func size(n int) uint32 { return 1 + uint32(n>>pageBits) }

// Count counts a mapped write of n bytes, unless it is to be timed, for Timed.
func (w *Writes) Count(n int) (timed bool) {
	if w.size+size(n) >= TimeEvery {
		return true
	}
	if w.n == 0 || uint32(w.least) > size(n) {
		w.least = uint16(size(n))
	}
	w.n++
	w.size += size(n)
	return false
}

// ofWrite returns what a write of n bytes is believed to take in this file by system call: no more than the last timed one
// took, or a hot read if none was timed.
func (r *record) ofWrite(n int64) int64 {
	return max(prices.Call.Now(), min(prices.OfWrite(n), r.own(Write, n)))
}

// ofShortWrite returns what a write of n bytes is believed to take at least in this file by system call: no more than the
// last timed one took, or than two hot reads if none was timed. Those of another file may be far dearer.
func (r *record) ofShortWrite(n int64) int64 {
	most := 2 * prices.Call.Now()
	if r != nil && r.own(Write, n) > 0 {
		most = r.own(Write, n)
	}
	return max(prices.Call.Now(), min(prices.OfWrite(0), most))
}

// Timed judges a mapped write of n bytes that was timed, and counts for those that were not. One that took
// longer than a system call was a page fault. If the account is far below zero by then, another process has
// had the file written back, which protects its pages. So no page counts as prefaulted any more. One that took
// longer than any page fault has waited for a processor, and tells nothing. Of calls of several sizes mostly a long one is
// timed, which saves more: so if one of the others is shorter, they count as small ones.
func (p *Pages) Timed(w *Writes, n int, took time.Duration) {
	others, shorter := int64(w.n), w.n > 0 && uint32(w.least) < size(n)
	w.n, w.size = 0, random()>>29
	fault := 16 * prices.OfWrite(0) * (1 + int64(n)>>pageBits) // no longer takes a fault of each page
	if int64(took) > 4*fault {
		return
	}
	saved := max(p.begin().ofWrite(int64(n))-int64(took), -fault)
	if saved >= 0 {
		each := saved
		if shorter {
			each = min(saved, p.begin().ofWrite(0))
		}
		account.Earn(saved + others*each)
		return
	}
	w.size = TimeEvery - 1 - random()%4 // the next ones may be faults, too: one of them is timed soon
	if !account.Affords(-account.Start / 2) {
		p.Synced(0, math.MaxInt64)
	}
	account.Spend(-saved * (1 + others) * 7 / 4) // more than that, since few are timed, and the others may have been worse
}
