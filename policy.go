package mmapfile

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// storePolicy decides between the two ways of writing inside the file. A store
// into a page that is ready for it costs almost nothing, and making it ready,
// which every page needs after a read, a Sync or a write-back, as much as some
// writes by pwrite; for many pages at once it is far cheaper than for each of
// them when it is stored to. So the writes of a region of 64 KiB (more in large
// files) go through pwrite until stores would have saved what making it ready
// costs, both of which are measured; then all of it is made ready, and stored to
// until the next Sync.
// Where writes go all over the file that may be too late for each region: no more is
// spent than the stores have saved before, and a sixteenth of what the calls took.
// Writes that come in order tell what is to come: in the second half of a region it
// is not worth it for them, and after many regions it is for the next ones at once.
//
// Two things can make that a bad choice, and are measured too: a Sync may take
// longer, since the system writes larger pieces of a file that was stored to, and
// somebody else's write-back may take the readiness away all the time. If a
// period between two Syncs costs more by that than its stores have saved, there
// are none until pwrite has taken fifty times the difference. Stores that are
// slower than pwrite end all readiness, and such a period; each that loses after
// another doubles the rest.
type storePolicy struct {
	shift uint
	epoch atomic.Uint32 // moved on by Sync, which makes all counts void
	limit atomic.Uint32 // in units, as counts are
	inRun atomic.Uint32 // what each of many in a row costs
	small atomic.Uint32 // that a store saves, whatever its length
	rests atomic.Bool   // no stores for a while
	every atomic.Uint32 // of so many stores one is timed
	count []atomic.Uint32

	mu       sync.Mutex // guards what follows, of which only samples take note
	call     typical    // nanoseconds that a small pwrite takes
	price    average    // nanoseconds that making a region ready takes
	runPrice average    // and for each of many in a row
	blind    bool       // nothing can be made ready here
	holes    bool       // nor where it was tried last
	slow     int        // the more, the more of the last stores were slow

	spent  float64     // nanoseconds, in this period for making ready and by slow stores
	early  uint64      // what stores saved, or would have, before slow ones ended a part of it
	plain  [33]typical // nanoseconds that a Sync takes after pwrites alone, by how much they wrote
	losses int         // periods that slow stores ended with a loss since one that gained
	judged int         // periods with stores
	left   float64     // nanoseconds that pwrite has to take before the rest ends
	learns bool        // or until the next Sync
}

// A count is of what stores would have saved.
const (
	regionShift    = 16      // 64 KiB
	regionsMax     = 1 << 14 // past this regions get larger: 64 KiB of counts
	policyPageSize = 4 << 10 // what counts as a page here, whatever the system's
	countBits      = 16
	countReady     = 1<<countBits - 1 // the region is stored to
	countMost      = countReady - 1

	unit      = 32 // nanoseconds
	savedPage = 6  // units for each page of a write: a store copies faster, too
	storeCost = 60 // nanoseconds

	limitLeast = 4 // of what a small store saves
	limitMost  = 1 << 15
	gainMost   = 1 << 20            // units that stores may save in one of many regions in a row
	inRunHoles = math.MaxUint32 - 1 // in the place of a price
	inRunNever = math.MaxUint32
	limitBlind = 64 // each page has to be stored to four times, as 16 have room in a region

	lossPart = 16 // of what calls took, that may be spent before it is saved
	// In units: 10 ms for each lock, in all what 1 GiB costs where a region costs 10 µs.
	budgetMost = 10_000_000 / unit
	runLeast   = 32       // regions written in order before the next ones are made ready
	runMost    = 128      // regions that are looked at for that
	runPart    = 8        // and which part of those as many are made ready at once
	aheadMost  = 16 << 20 // bytes
	hugeWrite  = 1 << 30  // bytes: for a longer write nothing is made ready

	sampleStores = 128 // of so many one is timed,
	sampleFirst  = 8   // and more often to begin with, and after a slow one
	sampleCalls  = 16
	slowMark     = 24
	slowStep     = 8
	rarely       = 64 // periods with stores until a Sync without them is measured again
	restFactor   = 50
	lossesMost   = 5 // doublings of it
)

func newStorePolicy(size int) *storePolicy {
	p := &storePolicy{shift: regionShift, blind: !canMakeReady}
	price := 4000.0
	for size>>p.shift >= regionsMax {
		p.shift++
		price *= 2
	}
	p.call.value = 700
	p.price, p.runPrice = average{value: price, start: price}, average{value: price, start: price}
	p.count = make([]atomic.Uint32, size>>p.shift+1)
	p.every.Store(sampleFirst)
	p.setLimit()
	return p
}

// setLimit is called with mu held, or before anybody else has p.
func (p *storePolicy) setLimit() {
	small := max(p.call.value-storeCost, 1*unit) / unit
	limit := max(p.price.value/unit, limitLeast*small)
	inRun := uint32(min(p.runPrice.value/unit, 2*gainMost))
	switch {
	case p.blind || p.holes:
		limit = min(limitBlind*small*float64(int(1)<<(p.shift-regionShift)), limitMost)
		if inRun = inRunHoles; p.blind {
			inRun = inRunNever
		}
	case limit > limitMost:
		limit = countReady // no count reaches it
	}
	p.inRun.Store(inRun)
	p.limit.Store(uint32(limit))
	p.small.Store(uint32(min(small, countMost/2)))
}

// saves is how many units a store of n bytes saves.
func (p *storePolicy) saves(n int) uint32 {
	if n < policyPageSize {
		return p.small.Load()
	}
	return p.small.Load() + savedPage*uint32(min(n/policyPageSize, countMost/savedPage/2))
}

// ready reports whether a write of n bytes at off is inside one region that is stored to.
func (p *storePolicy) ready(off, n int) bool {
	r := off >> (p.shift & 63)
	return (off+n-1)>>(p.shift&63) == r && p.count[r].Load() == p.epoch.Load()<<countBits|countReady && !p.rests.Load()
}

// hot reports whether a write of n bytes at off should be a store, which counts
// in slot if it is not; timed is whether that is a write to be timed. Counts of regions
// are set without a lock: one that gets lost delays the decision by one write.
func (f *file) hot(m *mapping, off, n int, slot *turn) (store, timed bool) {
	p := m.store
	if p.rests.Load() {
		return false, slot.call(off, n, p.saves(n))
	}
	epoch := p.epoch.Load() << countBits
	first, last := off>>p.shift, (off+n-1)>>p.shift
	part := p.saves(min(n, 1<<p.shift))
	limit := p.limit.Load()
	ready, due := true, n <= hugeWrite
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
	if ready {
		return true, false
	}
	if first == last {
		// Each 64 KiB have a slot of their own, also where regions are larger.
		inOrder := slot.next == off || p.shift > regionShift && off&(1<<regionShift-1) < n
		switch within := off & (1<<p.shift - 1); {
		case due && inOrder:
			due = within < 1<<p.shift/2
		case due:
			due = n > 1<<p.shift/2 || slot.mayLose()
		case within < n:
			gain := min(uint64(part)*uint64(1<<p.shift/n), gainMost)
			if ahead := p.ahead(first, epoch, uint32(gain)); ahead > 0 {
				last = min(first+ahead, len(p.count)) - 1
				if _, ok := f.makeReady(m, first, last, true); !ok {
					break
				}
				p.setReady(first, last, epoch)
				return true, false
			}
		}
	}
	if !due {
		return false, slot.call(off, n, p.saves(n))
	}
	took, _ := f.makeReady(m, first, last, false) // where it fails, each store does it for its page
	slot.spent += took
	p.setReady(first, last, epoch)
	return true, false
}

func (p *storePolicy) setReady(first, last int, epoch uint32) {
	for r := first; r <= last; r++ {
		p.count[r].Store(epoch | countReady)
	}
}

// ahead is how many regions, from this one on, are to be made ready for writes that
// come in order, of which stores save so much in each: a part of those that were
// written in order before. What that costs is tried now and then.
func (p *storePolicy) ahead(region int, epoch, gain uint32) int {
	run := 0
	for run < runMost && run < region {
		if c := p.count[region-run-1].Load(); c&^countReady != epoch || c&countReady < min(gain/2, countMost) {
			break
		}
		run++
	}
	if run < runLeast {
		return 0
	}
	price := p.inRun.Load()
	tries := run&(run-1) == 0 && run < runMost && (price/4 <= gain || price == inRunHoles)
	if price > gain-gain/4 && !tries {
		return 0
	}
	return min(run/runPart, max(1, aheadMost>>p.shift))
}

// makeReady makes the regions from first to last ready to be stored to, in a run of
// them or not, and reports whether they are, and how many units that took.
func (f *file) makeReady(m *mapping, first, last int, run bool) (units uint64, ok bool) {
	p := m.store
	p.mu.Lock()
	blind := p.blind
	p.mu.Unlock()
	if blind {
		return 0, false
	}
	end := min(int64(last+1)<<p.shift, (f.size.Load()+int64(pageSize)-1)&^int64(pageSize-1), int64(len(m.data)))
	start := int64(first) << p.shift
	if start >= end {
		return 0, false
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
		price := &p.price
		if run {
			price = &p.runPrice
		}
		price.add(took * float64(int64(1)<<p.shift) / float64(end-start))
	}
	p.setLimit()
	return uint64(took / unit), err == nil
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

// average is the mean of the last few samples, where those that take long are a part
// of what it costs: the first page of a large folio is as dear as all the others. But
// one that waited for the disk is not.
type average struct{ value, samples, start float64 }

// fade has it forget, since what is held to be dear is not tried again.
func (a *average) fade() {
	a.value -= max(0, a.value-a.start) / 1024
}

func (a *average) add(sample float64) {
	a.samples = min(a.samples+1, 8)
	a.value += (min(sample, 8*a.value) - a.value) / a.samples
}

// tookCall takes note of a pwrite of n bytes.
func (p *storePolicy) tookCall(took time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n <= policyPageSize {
		p.call.add(float64(took))
		p.price.fade()
		p.runPrice.fade()
		p.setLimit()
	}
	if p.left -= sampleCalls * float64(took); p.left < 0 {
		p.rests.Store(false)
	}
}

// tookStore takes note of a store of n bytes, and reports whether too many were
// slow lately.
func (p *storePolicy) tookStore(took time.Duration, n int) (slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := p.every.Load()
	more := float64(took) - p.call.value - float64(n)/2
	if more <= 0 {
		if every < sampleStores {
			p.every.Store(2 * every)
		}
		p.slow = max(0, p.slow-1)
		return false
	}
	p.spent += float64(every) * min(more, 4*p.call.value)
	p.every.Store(sampleFirst)
	if p.slow += slowStep; p.slow < slowMark {
		return false
	}
	p.slow = 0
	return true
}

// slowed ends all readiness, and reports whether that is because stores have lost. They
// have saved so much before, and would have saved so much more for writes that were none.
func (p *storePolicy) slowed(saved, missed uint64) (lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if loss := p.spent - float64(saved)*unit; loss > 0 {
		lost = true
		p.rest(float64(int(restFactor)<<p.losses)*loss, false)
		p.losses = min(p.losses+1, lossesMost)
	} else {
		p.losses = 0
	}
	p.spent = 0
	p.early += saved + missed
	p.cool()
	return lost
}

// letGo takes the regions of data, the mapping, that were ready before out of the page
// tables: while pages are there that can be stored to, whoever writes them back
// interrupts all cores for that. It takes some 30 ms for 1 GiB of them.
func (p *storePolicy) letGo(data []byte) {
	forget := func(r int) (wasReady bool) { // so that it is done once
		c := p.count[r].Load()
		return c&countReady == countReady && c&^countReady != p.epoch.Load()<<countBits && p.count[r].CompareAndSwap(c, 0)
	}
	for r := 0; r < len(p.count); r++ {
		first := r
		for r < len(p.count) && forget(r) {
			r++
		}
		if from, to := first<<p.shift, min(r<<p.shift, len(data)); from < to {
			adviseMemory(data[from:to], DontNeed)
		}
	}
}

// synced takes note of a Sync. Before it, stores have saved so much, and would
// have saved so much more for writes that were none.
func (p *storePolicy) synced(took time.Duration, saved, missed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	spent, early := p.spent, p.early
	p.spent, p.early = 0, 0
	plain := &p.plain[bits.Len64(saved+missed+early)/2]
	if saved == 0 {
		if missed > 0 && early == 0 { // else there was nothing to write, or there were stores
			plain.add(float64(took))
			if p.learns {
				p.rests.Store(false)
			}
		}
		return
	}
	cost := spent + min(float64(took), 4*plain.value) - plain.value
	gain := float64(saved) * unit
	p.judged++
	switch {
	case plain.samples == 0 || p.judged%rarely == 0:
		p.rest(8*float64(saved+missed+early)*unit, true) // long enough for another Sync to come first
	case cost > gain:
		p.rest(restFactor*(cost-gain), false)
	default:
		p.losses = 0
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
	p.every.Store(sampleFirst)
}
