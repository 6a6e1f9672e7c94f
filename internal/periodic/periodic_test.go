package periodic

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestStart_Stop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		owner, calls := new(int), 0
		stop := Start(owner, time.Second, func(o *int) {
			if o != owner {
				t.Error("called with another owner")
			}
			calls++
		})
		time.Sleep(3500 * time.Millisecond) // the clock of the bubble, which does not wait
		stop()
		stop()
		synctest.Wait()
		time.Sleep(time.Minute)
		if calls != 3 {
			t.Errorf("%d calls in 3.5 s, want 3", calls)
		}
	})
}

func TestStart_OwnerCollected(t *testing.T) {
	t.Parallel()
	var calls, ended atomic.Int64
	func() {
		owner := new([1 << 10]int)
		runtime.AddCleanup(owner, func(int) { ended.Add(1) }, 0)
		Start(owner, time.Microsecond, func(*[1 << 10]int) { calls.Add(1) })
		for calls.Load() == 0 {
			runtime.Gosched()
		}
	}()
	for began := time.Now(); ended.Load() == 0; runtime.GC() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the owner is never collected")
		}
	}
}
