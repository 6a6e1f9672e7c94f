package lab

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// Writes begin to be mapped after some rounds, when prefaulting has paid, and a figure from before or
// during that is neither. So every row warms up by the same rule, whatever the implementation.
const (
	warmRound = 8                      // calls of a round: two of them cover what was seen of a File's first writes
	warmMany  = 100                    // the same of calls that move no more than 100 KiB
	warmLeast = warmRound              // calls in any case: the seventh of 500 MB prefaults them
	warmMost  = 500 * time.Millisecond // from then on no further call is made
	warmFrom  = 4                      // rounds before they are compared: 64 KiB writes are prefaulted after 13 to 25 calls
	warmAgree = 1.1                    // two rounds agree if their medians differ by no more than this factor
)

// warmed is what warming up has cost.
type warmed struct {
	calls int
	took  time.Duration
}

// warmUp calls op until the medians of two rounds in turn agree.
func warmUp(b *testing.B, bytes int, op func() error) warmed {
	b.Helper()
	round := warmRound
	if bytes <= 100*benchtest.KB {
		round = warmMany
	}
	w, err := settle(round, b.Elapsed, op) // which stands still while op has stopped the timer
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// settle does that by clock.
func settle(round int, clock func() time.Duration, op func() error) (w warmed, err error) {
	began := clock()
	var last time.Duration // median of the round before
	for times := make([]time.Duration, 0, round); ; times = times[:0] {
		for range round {
			before := clock()
			if err := op(); err != nil {
				return w, err
			}
			after := clock()
			times = append(times, after-before)
			w.calls, w.took = w.calls+1, after-began
			if w.calls >= warmLeast && w.took >= warmMost {
				return w, nil
			}
		}
		slices.Sort(times)
		median := times[len(times)/2]
		if w.calls >= warmFrom*round && float64(max(median, last)) <= warmAgree*float64(min(median, last)) {
			return w, nil
		}
		last = median
	}
}

// report puts into the results how many calls warming up took, and how long one of them in terms of
// the row's figure.
func (w warmed) report(b *testing.B) {
	if b.Elapsed() <= 0 {
		return
	}
	b.ReportMetric(float64(w.calls), "warm-calls")
	b.ReportMetric(float64(w.took)/float64(w.calls)/(float64(b.Elapsed())/float64(b.N)), "warm-ratio")
}

// settled is how many calls settle makes, the i-th of which takes that many milliseconds.
func settled(t *testing.T, took func(i int) int) warmed {
	t.Helper()
	now, calls := time.Duration(0), 0
	w, err := settle(warmRound, func() time.Duration { return now }, func() error {
		now += time.Duration(took(calls)) * time.Millisecond
		calls++
		return nil
	})
	if err != nil || w.calls != calls || w.took != now {
		t.Fatalf("%+v, %v after %d calls in %v", w, err, calls, now)
	}
	return w
}

func TestSettle_TwoRoundsThatAgree(t *testing.T) {
	for what, c := range map[string]struct {
		took func(i int) int
		want int
	}{
		"always alike":              {func(int) int { return 10 }, warmFrom * warmRound},
		"a slow first call":         {func(i int) int { return 10 + max(0, 90-90*i) }, warmFrom * warmRound},
		"faster from the 27th on":   {func(i int) int { return 10 - 5*min(1, i/26) }, (warmFrom + 1) * warmRound},
		"slower all the time":       {func(i int) int { return 1 << (i / warmRound) }, 6 * warmRound},
		"long calls, the least":     {func(int) int { return 400 }, warmLeast},
		"long calls, up to a bound": {func(int) int { return 50 }, 10},
	} {
		if w := settled(t, c.took); w.calls != c.want {
			t.Errorf("%s: %d calls, want %d", what, w.calls, c.want)
		}
	}
}

func TestSettle_Error(t *testing.T) {
	bad := errors.New("bad")
	if _, err := settle(3, func() time.Duration { return 0 }, func() error { return bad }); err != bad {
		t.Errorf("%v", err)
	}
}
