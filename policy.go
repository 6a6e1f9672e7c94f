package mmapfile

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// storePolicy decides between the two ways of writing inside the file. A store
// into a page that is ready for it costs almost nothing, and making it ready,
// which every page needs after a read, a Sync or a write-back, as much as some
// writes by pwrite; for many pages at once it is far cheaper than for each of
// them when it is stored to. So the writes of a region of 64 KiB go through
// pwrite until stores would have saved four times what making it ready costs,
// which is measured; then all of it is made ready, and stored to until the next Sync.
//
// Two things can make that a bad choice, and are measured too: a Sync may take
// longer, since the system writes larger pieces of a file that was stored to, and
// somebody else's write-back may take the readiness away all the time. If a
// period between two Syncs costs more by that than its stores have saved, there
// are none until pwrite has taken fifty times the difference; and stores that are
// slower than pwrite end all readiness, and double what must have been saved
// before there is another.
type storePolicy struct {
	shift uint
	epoch atomic.Uint32 // moved on by Sync, which makes all counts void
	limit atomic.Uint32
	rests atomic.Bool // no stores for a while
	count []atomic.Uint32

	mu      sync.Mutex // guards what follows, of which only samples take note
	call    typical    // nanoseconds that a small pwrite takes
	price   typical    // nanoseconds that making a region ready takes
	blind   bool       // nothing can be made ready here
	holes   bool       // nor where it was tried last
	doubled uint       // how often stores were slow lately
	slow    int        // the more, the more of the last samples were slow
	fast    int        // samples since

	spent  float64     // nanoseconds, in this period for making ready
	plain  [33]typical // nanoseconds that a Sync takes after pwrites alone, by how much they wrote
	judged int         // periods with stores
	left   float64     // nanoseconds that pwrite has to take before the rest ends
	learns bool        // or until the next Sync
}

// A count is of what stores would have saved, a small write being savedCall.
const (
	regionShift    = 16      // 64 KiB
	regionsMax     = 1 << 14 // past this regions get larger: 64 KiB of counts
	policyPageSize = 4 << 10 // what counts as a page here, whatever the system's
	countBits      = 16
	countReady     = 1<<countBits - 1 // the region is stored to
	countMost      = countReady - 1

	savedCall = 4
	savedPage = 2

	limitLeast = 8 * savedCall
	limitMost  = 1 << 15
	limitBlind = 64 * savedCall // each page has to be stored to four times, as 16 have room in a region

	sampleStores = 128 // of so many one is timed
	sampleCalls  = 16
	slowMark     = 24
	slowStep     = 8
	rarely       = 64 // periods with stores until a Sync without them is measured again
	restFactor   = 50
)

func newStorePolicy(size int) *storePolicy {
	p := &storePolicy{shift: regionShift, blind: !canMakeReady}
	p.call.value, p.price.value = 700, 4000
	for size>>p.shift >= regionsMax {
		p.shift++
		p.price.value *= 2
	}
	p.count = make([]atomic.Uint32, size>>p.shift+1)
	p.setLimit()
	return p
}

// setLimit is called with mu held, or before anybody else has p.
func (p *storePolicy) setLimit() {
	limit := 4 * p.price.value / p.call.value * savedCall
	if p.blind || p.holes {
		limit = limitBlind * float64(int(1)<<(p.shift-regionShift))
	}
	limit = max(limit, limitLeast) * float64(int(1)<<p.doubled)
	p.limit.Store(uint32(min(limit, limitMost)))
}

// saves is what a store of n bytes saves.
func saves(n int) uint32 {
	return savedCall + savedPage*uint32(min(n/policyPageSize, countMost))
}

// hot reports whether a write of n bytes at off should be a store, and counts
// it. Counts are set without a lock: one that gets lost delays the decision by
// one write.
func (f *file) hot(m *mapping, off, n int) bool {
	p := m.store
	if p.rests.Load() {
		return false
	}
	epoch := p.epoch.Load() << countBits
	first, last := off>>p.shift, (off+n-1)>>p.shift
	if first == last && p.count[first].Load() == epoch|countReady {
		return true // most often
	}
	part := saves(min(n, 1<<p.shift))
	limit := p.limit.Load()
	ready, due := true, true
	for r := first; r <= last; r++ {
		c := p.count[r].Load()
		if c == epoch|countReady {
			continue
		}
		ready = false
		if c&^countReady != epoch {
			c = epoch
		}
		if c&countReady == countReady {
			continue
		}
		c += min(part, countMost-c&countReady)
		p.count[r].Store(c)
		due = due && c&countReady >= limit
	}
	if ready || !due {
		return ready
	}
	f.makeReady(m, first, last)
	for r := first; r <= last; r++ {
		p.count[r].Store(epoch | countReady)
	}
	return true
}

// makeReady makes the regions from first to last ready to be stored to. It is
// of no consequence if that fails: each store then does it for its page.
func (f *file) makeReady(m *mapping, first, last int) {
	p := m.store
	p.mu.Lock()
	blind := p.blind
	p.mu.Unlock()
	if blind {
		return // each store has to do it for its page
	}
	end := min(int64(last+1)<<p.shift, (f.size.Load()+int64(pageSize)-1)&^int64(pageSize-1), int64(len(m.data)))
	start := int64(first) << p.shift
	if start >= end {
		return
	}
	began := time.Now()
	err := makeReady(f.inner, m.data[start:end], start)
	took := float64(time.Since(began))

	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += took
	p.holes = err == errHoles
	p.blind = errors.Is(err, errors.ErrUnsupported)
	if err == nil {
		p.price.add(took * float64(int64(1)<<p.shift) / float64(end-start))
	}
	p.setLimit()
}

var errHoles = errors.New("the file has holes")

// typical is a value that half of the samples are above. Their mean would be that
// of the few in which the goroutine was interrupted or the disk was waited for.
type typical struct{ value, samples float64 }

func (t *typical) add(sample float64) {
	step := 1 + 1/(t.samples+1) // large at first
	t.samples = min(t.samples+1, 15)
	sample = max(sample, 50) // clocks may be coarse
	switch {
	case t.value == 0:
		t.value = sample
	case sample > t.value:
		t.value *= step
	default:
		t.value /= step
	}
}

// tookCall takes note of a pwrite of n bytes.
func (p *storePolicy) tookCall(took time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n <= policyPageSize {
		p.call.add(float64(took))
		p.setLimit()
	}
	if p.left -= sampleCalls * float64(took); p.left < 0 {
		p.rests.Store(false)
	}
}

// tookStore takes note of a store of n bytes.
func (p *storePolicy) tookStore(took time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if float64(took) <= p.call.value+float64(n)/2 {
		p.slow = max(0, p.slow-1)
		if p.fast++; p.fast >= 64 && p.doubled > 0 {
			p.doubled--
			p.fast = 0
			p.setLimit()
		}
		return
	}
	if p.slow += slowStep; p.slow >= slowMark {
		p.slow, p.fast = 0, 0
		p.doubled = min(p.doubled+1, 10)
		p.setLimit()
		p.cool()
	}
}

// synced takes note of a Sync. Before it, stores have saved so much, and would
// have saved so much more for writes that were none.
func (p *storePolicy) synced(took time.Duration, saved, missed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spent := p.spent
	p.spent = 0
	plain := &p.plain[bits.Len64(saved+missed)/2]
	if saved == 0 {
		if missed > 0 { // else there was nothing to write
			plain.add(float64(took))
			if p.learns {
				p.rests.Store(false)
			}
		}
		return
	}
	cost := spent + min(float64(took), 4*plain.value) - plain.value
	gain := float64(saved) / savedCall * p.call.value
	p.judged++
	switch {
	case plain.samples == 0 || p.judged%rarely == 0:
		p.rest(2*float64(saved+missed)/savedCall*p.call.value, true)
	case cost > gain:
		p.rest(restFactor*(cost-gain), false)
	}
}

func (p *storePolicy) rest(left float64, learns bool) {
	p.left, p.learns = left, learns
	p.rests.Store(true)
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
