package mmapfile

import (
	"testing"
	"time"
)

// period is one with so many small stores, of which each saves a call, and a Sync.
func period(p *storePolicy, stores uint64, sync time.Duration) {
	p.synced(sync, stores*savedCall, 0)
}

// plainPeriod is one without stores.
func plainPeriod(p *storePolicy, writes uint64, sync time.Duration) {
	p.synced(sync, 0, writes*savedCall)
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

func TestSlowStoresEndReadinessAndDoubleTheLimit(t *testing.T) {
	p := newStorePolicy(1 << 20)
	limit, epoch := p.limit.Load(), p.epoch.Load()
	fast, slow := 50*time.Nanosecond, 50*time.Microsecond
	for range 1000 { // a slow one now and then is nothing
		p.tookStore(slow, 64)
		for range 2 * slowStep {
			p.tookStore(fast, 64)
		}
	}
	if p.epoch.Load() != epoch || p.limit.Load() != limit {
		t.Fatalf("some slow stores: epoch %d, limit %d, were %d and %d", p.epoch.Load(), p.limit.Load(), epoch, limit)
	}
	for range 10 {
		p.tookStore(slow, 64)
	}
	if p.epoch.Load() == epoch || p.limit.Load() <= limit {
		t.Errorf("slow stores: epoch %d, limit %d", p.epoch.Load(), p.limit.Load())
	}
	for range 10_000 {
		p.tookStore(fast, 64)
	}
	if p.limit.Load() != limit {
		t.Errorf("the limit is %d long after, was %d", p.limit.Load(), limit)
	}
}

func TestLimitFollowsWhatIsMeasured(t *testing.T) {
	p := newStorePolicy(1 << 20)
	limit := p.limit.Load()
	for range 100 {
		p.tookCall(10*time.Microsecond, 64)
	}
	if got := p.limit.Load(); canMakeReady && got >= limit || got > limit || got < limitLeast {
		t.Errorf("with slow calls it is %d, was %d", got, limit)
	}
	for range 200 {
		p.tookCall(0, 64)
	}
	if got := p.limit.Load(); canMakeReady && got <= limit || got > limitMost {
		t.Errorf("with calls that cost nothing it is %d", got)
	}
	if size := int64(64 << 30); size > maxInt {
		t.Skip("such files are not mapped as a whole here")
	} else if big := newStorePolicy(int(size)); len(big.count) > regionsMax+1 || big.limit.Load() <= limit {
		t.Errorf("64 GiB: %d regions, limit %d", len(big.count), big.limit.Load())
	}
}
