package vm

import "testing"

// Ranges that the last collection has found in use are not waited for. The test does not run in
// parallel: the counters are those of all ranges.
func TestReclaim_AllRangesInUse(t *testing.T) {
	reserved.Add(1)
	kept.Store(reserved.Load())
	looks := 0
	reclaim(true, func() bool { looks++; return false })
	capTo(&kept, reserved.Add(-1))
	if looks != 1 {
		t.Errorf("looked %d times", looks)
	}
}
