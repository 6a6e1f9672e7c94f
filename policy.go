package mmapfile

import "sync/atomic"

// storePolicy decides between the two ways of writing inside the file. A store
// into a page that is dirty already is two to three times faster than pwrite; the
// first store to a page that was just read or synced is up to ten times slower
// (4.8 µs against 0.45, with large folios). So a write goes through pwrite
// until its region has been written often since the last Sync: each write
// counts one, and one for each of its pages, or two if it covers a region as a
// whole; and from four a page on the region's writes are stores. So a file that
// is written once, in pages or more, is never stored to, and one that is
// rewritten again and again is from the third time on.
type storePolicy struct {
	shift uint
	limit uint32
	epoch atomic.Uint32   // moved on by Sync, which makes all counts void
	count []atomic.Uint32 // epoch in the upper 16 bits, count in the lower
}

const (
	regionShift    = 16      // 64 KiB
	regionsMax     = 1 << 14 // past this regions get larger: 64 KiB of counts
	countsPerPage  = 4
	policyPageSize = 4 << 10 // what counts as a page here, whatever the system's
	countBits      = 16
	countMask      = 1<<countBits - 1
)

func newStorePolicy(size int) *storePolicy {
	p := &storePolicy{shift: regionShift}
	for size>>p.shift >= regionsMax {
		p.shift++
	}
	p.limit = uint32(min(countsPerPage<<(p.shift-12), countMask))
	p.count = make([]atomic.Uint32, size>>p.shift+1)
	return p
}

// hot reports whether a write of n bytes at off should be a store, and counts
// it. Counts are set without a lock: one that gets lost delays the decision by
// one write.
func (p *storePolicy) hot(off, n int) bool {
	epoch := p.epoch.Load() << countBits
	last := (off + n - 1) >> p.shift
	hot := true
	for r := off >> p.shift; r <= last; r++ {
		c := p.count[r].Load()
		if c&^countMask != epoch {
			c = epoch
		}
		if c&countMask >= p.limit {
			continue
		}
		hot = false
		part := min(n, 1<<p.shift)
		pages := uint32(part+policyPageSize-1) / policyPageSize
		add := 1 + pages
		if n >= 1<<p.shift {
			add += pages
		}
		p.count[r].Store(epoch | min(p.limit, c&countMask+add))
	}
	return hot
}

// coolRange is cool for the regions of n bytes at off.
func (p *storePolicy) coolRange(off, n int) {
	for r := off >> p.shift; r <= (off+n-1)>>p.shift && r < len(p.count); r++ {
		p.count[r].Store(0)
	}
}

// cool forgets the counts, since a sync has made all pages costly to store to.
func (p *storePolicy) cool() {
	p.epoch.Add(1)
}
