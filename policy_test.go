package mmapfile

import (
	"testing"
	"time"
)

// saved is what so many small stores save.
func saved(stores int) uint32 { return uint32(stores) * savedCall }

func TestPeriodThatCostsMoreThanItsStoresSavedIsFollowedByOnesWithout(t *testing.T) {
	p := newStorePolicy(1 << 20)
	p.synced(time.Millisecond, saved(1000))
	if !p.rests.Load() {
		t.Fatal("nothing is known of a Sync without stores, and there is no period without")
	}
	p.synced(time.Millisecond, 0)
	if p.rests.Load() {
		t.Fatal("one period without stores does not do")
	}
	want := p.resume
	for range 3 {
		p.synced(2*time.Millisecond, saved(10)) // a millisecond for some microseconds
		for i := range want {
			if !p.rests.Load() {
				t.Fatalf("stores again after %d of %d periods", i, want)
			}
			p.synced(time.Millisecond, 0)
		}
		if p.rests.Load() {
			t.Fatalf("no stores after %d periods", want)
		}
		want *= 4
	}
	p.synced(2*time.Millisecond, saved(1_000_000))
	if p.rests.Load() {
		t.Error("no stores after a period in which they saved more than they cost")
	}
}

func TestSyncWithoutStoresIsMeasuredAgain(t *testing.T) {
	p := newStorePolicy(1 << 20)
	p.synced(time.Millisecond, 0)
	rests := 0
	for range 200 {
		if p.synced(time.Millisecond, saved(100_000)); p.rests.Load() {
			rests++
			p.synced(time.Millisecond, 0)
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
		p.tookCall(10 * time.Microsecond)
	}
	if got := p.limit.Load(); got >= limit || got < limitLeast {
		t.Errorf("with slow calls it is %d, was %d", got, limit)
	}
	for range 200 {
		p.tookCall(time.Nanosecond)
	}
	if got := p.limit.Load(); got != limitMost {
		t.Errorf("with calls that cost nothing it is %d", got)
	}
	if big := newStorePolicy(64 << 30); len(big.count) > regionsMax+1 || big.limit.Load() <= limit {
		t.Errorf("64 GiB: %d regions, limit %d", len(big.count), big.limit.Load())
	}
}
