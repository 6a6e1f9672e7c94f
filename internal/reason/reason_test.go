package reason

import (
	"math/rand/v2"
	"testing"
)

// The process has all calls of files that are closed, and of the others all but less than a group of each reason.
func TestCounter_Model(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		var c *Counter // until a call is recorded
		var want Counts
		before, unrecorded := OfProcess(), uint64(0)
		for op := range 1 + r.IntN(300) {
			if k := r.IntN(10); k < 5 {
				unrecorded++
			} else if c == nil {
				c = new(Counter)
			}
			if c != nil {
				if why := Reason(1 + r.IntN(int(reasons)-1)); r.IntN(2) == 0 {
					c.Add(why, 1)
					want[why]++
				}
				if r.IntN(20) == 0 {
					first := uint64(0)
					if want[First] == 0 {
						first = min(unrecorded, Group)
					}
					c.AddUnrecorded(unrecorded, Unpaid)
					want[First] += first
					want[Unpaid] += unrecorded - first
					unrecorded = 0
				}
				if got := c.Counts(); got != want {
					t.Fatalf("seed %d, operation %d: %v, want %v", seed, op, got, want)
				}
			}
			for why, n := range OfProcess() {
				if has := want[why] - (n - before[why]); has >= Group {
					t.Fatalf("seed %d, operation %d: the process lacks %d calls of reason %d", seed, op, has, why)
				}
			}
		}
		all := c.Counts().With(unrecorded, HandedOut)
		sum := uint64(0)
		for why, n := range all {
			sum += n - want[why]
		}
		if sum != unrecorded {
			t.Fatalf("seed %d: %d calls that were not recorded are counted as %d", seed, unrecorded, sum)
		}
		c.Close(unrecorded, HandedOut)
		for why, n := range OfProcess() {
			if n-before[why] != all[why] {
				t.Fatalf("seed %d: the process has %d calls of reason %d, the file %d", seed, n-before[why], why, all[why])
			}
		}
	}
}

// A call that ends after Close moves no call again.
func TestCounter_AfterClose(t *testing.T) {
	var c Counter
	before := OfProcess()
	c.Add(Seldom, Group-1)
	c.Close(0, Unpaid)
	c.Add(Seldom, 2)
	if n := OfProcess()[Seldom] - before[Seldom]; n != Group-1 {
		t.Errorf("the process has %d calls, want %d", n, Group-1)
	}
	if n := c.Counts()[Seldom]; n != Group+1 {
		t.Errorf("the file has %d calls, want %d", n, Group+1)
	}
}
