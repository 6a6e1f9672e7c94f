package mmapfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// period is one with so many small stores, of which each saves a call, and a Sync.
func period(p *storePolicy, stores uint64, sync time.Duration) {
	p.synced(sync, stores*uint64(p.saves(64)), 0)
}

// plainPeriod is one without stores.
func plainPeriod(p *storePolicy, writes uint64, sync time.Duration) {
	p.synced(sync, 0, writes*uint64(p.saves(64)))
}

func TestRestEndsOnceItHasCostFiftyTimesTheLoss(t *testing.T) {
	p := newStorePolicy(1 << 20)
	plainPeriod(p, 1000, time.Millisecond)
	period(p, 1000, 3*time.Millisecond) // two milliseconds more, for 0.7 saved
	calls := 0
	for ; p.rests.Load() && calls < 10_000_000; calls += sampleCalls {
		plainPeriod(p, 1000, time.Millisecond)
		p.tookCall(700*time.Nanosecond, 64)
	}
	if took := time.Duration(calls) * 700; took < 55*time.Millisecond || took > 75*time.Millisecond {
		t.Errorf("the rest was %d calls, %v", calls, took)
	}
	period(p, 1000, time.Millisecond)
	if p.rests.Load() {
		t.Error("a rest after a period that saved more than it cost")
	}
}

func TestSyncsOfOtherVolumesAreNotCompared(t *testing.T) {
	p := newStorePolicy(1 << 20)
	for range 100 {
		plainPeriod(p, 100_000, 30*time.Millisecond)
		p.synced(time.Microsecond, 0, 0) // nothing was written
	}
	plainPeriod(p, 1000, 6*time.Millisecond)
	period(p, 1000, 12*time.Millisecond)
	if !p.rests.Load() {
		t.Error("a Sync of twice the time is no loss")
	}
}

func TestOneSyncDoesNotEndStoresForGood(t *testing.T) {
	p := newStorePolicy(1 << 20)
	period(p, 1000, time.Millisecond)
	if !p.rests.Load() {
		t.Fatal("nothing is known of a Sync without stores, and there is no rest")
	}
	for range 1000 {
		p.tookCall(700*time.Nanosecond, 64)
	}
	if p.rests.Load() {
		t.Error("no other Sync comes, and there are no stores")
	}
}

func TestSyncWithoutStoresIsMeasuredAgain(t *testing.T) {
	p := newStorePolicy(1 << 20)
	rests := 0
	for range 200 {
		if period(p, 100_000, time.Millisecond); p.rests.Load() {
			rests++
			plainPeriod(p, 100_000, time.Millisecond)
		}
	}
	if rests < 2 || rests > 5 {
		t.Errorf("%d of 200 periods were without stores", rests)
	}
}

func TestSlowStoresEndReadinessUntilTheLossIsMadeUpFor(t *testing.T) {
	p := newStorePolicy(1 << 20)
	epoch := p.epoch.Load()
	fast, slow := 50*time.Nanosecond, 50*time.Microsecond
	for range 1000 { // a slow one now and then is nothing
		ended := p.tookStore(slow, 64)
		for range 2 * slowStep {
			ended = p.tookStore(fast, 64) || ended
		}
		if ended {
			t.Fatal("single slow stores end readiness")
		}
	}
	p.slowed(1e9, 0) // by far more saved than lost
	if p.epoch.Load() == epoch || p.rests.Load() {
		t.Errorf("epoch %d, was %d; a rest after a period that saved: %v", p.epoch.Load(), epoch, p.rests.Load())
	}
	calls := 0
	for !p.tookStore(slow, 64) {
		if calls++; calls > 10 {
			t.Fatal("slow stores do not end readiness")
		}
	}
	if p.slowed(10, 0); !p.rests.Load() {
		t.Error("no rest after a period that lost")
	}
	p.synced(time.Second, 0, 100)
	for _, plain := range p.plain {
		if plain.samples != 0 {
			t.Error("a Sync after stores is taken for one without")
		}
	}
}

func TestLimitFollowsWhatIsMeasured(t *testing.T) {
	// How many small writes have to go to a region before it is stored to.
	calls := func(p *storePolicy) uint32 { return p.limit.Load() / p.saves(64) }
	p := newStorePolicy(1 << 20)
	first := calls(p)
	for range 20 {
		p.price.add(100_000)
		p.setLimit()
	}
	dear := calls(p)
	if canMakeReady && dear < 10*first || dear < first {
		t.Errorf("%d calls where making a region ready takes 100 µs, were %d", dear, first)
	}
	for range 100 {
		p.tookCall(10*time.Microsecond, 64)
	}
	if got := calls(p); canMakeReady && got >= dear || got > dear || got < limitLeast {
		t.Errorf("%d calls where each takes 10 µs, were %d", got, dear)
	}
	for range 200 {
		p.tookCall(0, 64)
	}
	if got := p.limit.Load(); calls(p) < dear || got > limitMost {
		t.Errorf("%d calls, of which each takes nothing, were %d: limit %d", calls(p), dear, got)
	}
	if size := int64(64 << 30); size > maxInt {
		t.Skip("such files are not mapped as a whole here")
	} else if big := newStorePolicy(int(size)); len(big.count) > regionsMax+1 || calls(big) <= first {
		t.Errorf("64 GiB: %d regions, %d calls", len(big.count), calls(big))
	}
}

func TestOneLongWaitDoesNotSetThePrice(t *testing.T) {
	p := newStorePolicy(1 << 20)
	p.price.add(1e9)
	for range 20 {
		p.price.add(5000)
	}
	if p.price.value > 8000 {
		t.Errorf("%v after samples of 5000", p.price.value)
	}
	for range 8 {
		p.price.add(1e9)
	}
	for range 20_000 {
		p.tookCall(700*time.Nanosecond, 64)
	}
	if p.price.value > 8000 {
		t.Errorf("%v long after waits that nothing came after", p.price.value)
	}
}

func TestWritesInOrderAreReadyAhead(t *testing.T) {
	const each = 16 // units that stores save in a region
	p := newStorePolicy(64 << 20)
	for r := range 200 {
		p.count[r].Store(each)
	}
	for _, c := range []struct {
		region, ahead int
		price         uint32
	}{
		{runLeast - 1, 0, 0}, // it has just begun
		{runLeast, runLeast / runPart, 0},
		{runLeast, runLeast / runPart, 2 * each}, // tries it
		{runLeast, 0, 100 * each},                // but not what is far too dear
		{runLeast + 1, 0, 2 * each},
		{200, runMost / runPart, each / 2},
		{200, 0, 2 * each},
		{201, 0, 0}, // the one before was not written
		{2 * runLeast, 2 * runLeast / runPart, inRunHoles},
		{2 * runLeast, 0, inRunNever},
	} {
		p.inRun.Store(c.price)
		if got := p.ahead(c.region, 0, each); got != c.ahead {
			t.Errorf("region %d, which costs %d, after all before saved %d: %d ahead, and not %d", c.region, c.price, each, got, c.ahead)
		}
	}
	if got := p.ahead(200, 1<<countBits, each); got != 0 {
		t.Errorf("%d ahead by counts from before a Sync", got)
	}
	p.inRun.Store(0)
	for p.shift < 40 { // large regions: not much is made ready at once
		p.shift++
		if got := p.ahead(200, 0, each); got < 1 || got > 1 && got<<p.shift > aheadMost {
			t.Errorf("%d regions of %d bytes ahead", got, int64(1)<<p.shift)
		}
	}
}

func TestWritesAnywhereRiskAPartOfWhatTheyTake(t *testing.T) {
	s := turn{}
	if !s.mayLose() {
		t.Error("the first region may not be tried")
	}
	if s.spent = 1000; s.mayLose() {
		t.Error("spent, and nothing saved")
	}
	if s.missed = 1000 * lossPart; !s.mayLose() {
		t.Error("little in terms of all the time")
	}
	s.missed = 0
	if s.saved = 1000; !s.mayLose() {
		t.Error("saved as much as was spent")
	}
	long := turn{saved: 1000 * budgetMost, spent: 1}
	if !long.mayLose() {
		t.Error("far more was saved than spent")
	}
	if long.spent += budgetMost + 1; long.mayLose() {
		t.Error("what was saved long ago pays for more than a little")
	}
	var all turns
	all[3].spent, all[3].saved = s.spent, s.saved
	all[3].Lock() // as the writer has it who asks
	if saved, _ := all.takeSaved(1 << 3); saved != 1000 || all[3].spent != 0 {
		t.Errorf("saved %d; %d spent in the next period", saved, all[3].spent)
	}
}

// mappedFile is a new file of so many bytes, mapped.
func mappedFile(t *testing.T, size int64) (*File, *mapping) {
	t.Helper()
	if !canMap || locked {
		t.Skip("nothing is mapped unasked")
	}
	f, err := OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if f.Bytes() == nil {
		t.Skip("it cannot be mapped here")
	}
	return f, f.m.Load()
}

func TestWritesInOrderLeaveTheSecondHalfOfARegion(t *testing.T) {
	const region, n = 1 << regionShift, 64
	f, m := mappedFile(t, 4*region)
	if m.store == nil {
		t.Skip("nothing is stored here")
	}
	for _, c := range []struct {
		large     bool // the file: regions are of two locks, each with its turn
		off, next int
		store     bool
	}{
		{false, region / 4, region / 4, true},
		{false, region + region/2, region + region/2, false},
		{false, 2*region + region/2, 7, true},       // this is not in order
		{false, 3*region + region/2 + 100, 7, true}, // nor this
		{true, region, 7, false},                    // the first of its turn
		{true, 2*region + region + 100, 7, true},
		{false, region, -1, false}, // not in order, and all is spent
	} {
		if m.store.shift = regionShift; c.large {
			m.store.shift++
		}
		m.store.cool()
		m.store.limit.Store(1) // any write is due
		slot := turn{next: c.next}
		if c.next < 0 {
			slot.spent = budgetMost
		}
		if store, _ := f.hot(m, c.off, n, &slot); store != c.store {
			t.Errorf("a write at %d after one that ended at %d: stored %v", c.off, c.next, store)
		}
		if ready := m.store.ready(c.off, n); ready != c.store {
			t.Errorf("the region of %d is ready: %v", c.off, ready)
		}
	}
}

func TestDiscardSkipsAllButTheLastPage(t *testing.T) {
	f, _ := mappedFile(t, skipPiece+int64(2*pageSize)+5)
	for f.cur.state.Load() != cursorOurs { // some calls at the cursor bring it here
		if _, err := f.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	from := f.cur.pos
	if n := f.skip(); from+n != skipPiece+int64(2*pageSize) || f.cur.pos != from+n {
		t.Errorf("from %d on it skips %d bytes, to %d", from, n, f.cur.pos)
	}
}

func TestRestsGetLongerWhileStoresLose(t *testing.T) {
	p := newStorePolicy(1 << 20)
	lose := func(spent, saved float64) float64 {
		p.spent = spent
		p.left = 0
		p.slowed(uint64(saved/unit), 0)
		return p.left
	}
	const loss = float64(10 * time.Millisecond)
	last := lose(loss, 0)
	for range lossesMost {
		next := lose(loss, 0)
		if next != 2*last {
			t.Errorf("a rest of %v follows one of %v", time.Duration(next), time.Duration(last))
		}
		last = next
	}
	if next := lose(loss, 0); next != last {
		t.Errorf("rests get longer without end: %v after %v", time.Duration(next), time.Duration(last))
	}
	lose(loss, 2*loss)
	if next := lose(loss, 0); next != restFactor*loss {
		t.Errorf("a rest of %v after stores had saved more than they cost", time.Duration(next))
	}
	plainPeriod(p, 0, time.Millisecond) // ends that with the loss
	plainPeriod(p, 1e6, time.Millisecond)
	period(p, 1e6, time.Millisecond)
	if next := lose(loss, 0); next != restFactor*loss {
		t.Errorf("a rest of %v after a Sync before which stores had saved more than they cost", time.Duration(next))
	}
}

func TestStoresAreTimedMoreOftenToBeginWithAndAfterASlowOne(t *testing.T) {
	p := newStorePolicy(1 << 20)
	var s turn
	untilTimed := func() (n int) {
		t.Helper()
		for n = 1; !s.store(p, 64); n++ {
			if n > 2*sampleStores {
				t.Fatal("no store is timed any more")
			}
		}
		return n
	}
	for _, again := range []func(){func() {}, func() { p.tookStore(50*time.Microsecond, 64) }, p.cool} {
		again()
		for range 3 { // however many came before, from the second on
			if n := untilTimed(); n > sampleFirst {
				t.Errorf("%d stores until one is timed", n)
			}
		}
		for range 20 {
			p.tookStore(50*time.Nanosecond, 64)
		}
		untilTimed()
		if n := untilTimed(); n != sampleStores {
			t.Errorf("%d stores until one is timed, after many fast ones", n)
		}
	}
}

func TestSlowStoreCountsForThoseThatWereNotTimed(t *testing.T) {
	p := newStorePolicy(1 << 20)
	lost := func() float64 {
		before := p.spent
		p.tookStore(2*time.Microsecond, 64)
		return p.spent - before
	}
	first := lost()
	for range 20 {
		p.tookStore(50*time.Nanosecond, 64)
	}
	if got := lost(); got != first*sampleStores/sampleFirst {
		t.Errorf("%v lost where one of %d stores is timed, and %v for one of %d", got, sampleStores, first, sampleFirst)
	}
}
