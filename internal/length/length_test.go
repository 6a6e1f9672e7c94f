package length

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/internal/race"
)

// A world is a file and what is known of its length.
type world struct {
	file  int64 // the true length
	known Length
	busy  bool // a truncation is in progress
}

// A call is a call of a File as the steps that others may come between. A step returns false
// if it has to wait for another call.
type call struct {
	name  string
	steps func(w *world) []func() bool
}

func done(fn func()) func() bool { return func() bool { fn(); return true } }

var stat = call{"stat", func(w *world) []func() bool {
	var was Before
	var size int64
	return []func() bool{
		done(func() { was = w.known.Before() }),
		done(func() { size = w.file }),
		done(func() { w.known.Answered(was, size) }),
	}
}}

// write is a WriteAt up to end, of which the system writes up to part.
func write(end, part int64) call {
	return call{fmt.Sprintf("write to %d of %d", part, end), func(w *world) []func() bool {
		var was Before
		return []func() bool{
			done(func() { was = w.known.Before() }),
			done(func() { w.file = max(w.file, part) }),
			done(func() {
				if part < end {
					w.known.Stale()
				} else {
					w.known.Reached(was, end)
				}
			}),
		}
	}}
}

// appends is a write at an offset that only the kernel knows.
var appends = call{"append", func(w *world) []func() bool {
	return []func() bool{
		done(func() { w.file += 70 }),
		done(w.known.Stale),
	}
}}

// read is a ReadAt of the bytes up to end.
func read(end int64, mapped bool) call {
	return call{fmt.Sprintf("read to %d mapped %v", end, mapped), func(w *world) []func() bool {
		var was Before
		var to int64
		return []func() bool{
			done(func() { was = w.known.Before() }),
			done(func() { to = min(end, w.file) }),
			done(func() {
				switch {
				case to > was.Known:
					if mapped {
						w.known.Reached(was, to)
					}
					w.known.Stale()
				case to < end && to < was.Known:
					w.known.Answered(was, to)
				}
			}),
		}
	}}
}

func truncate(size int64, ok bool) call {
	return call{fmt.Sprintf("truncate to %d %v", size, ok), func(w *world) []func() bool {
		var old int64
		return []func() bool{
			func() bool {
				if w.busy {
					return false // File.Truncate holds a lock
				}
				w.busy = true
				old = w.known.BeginTruncate(size)
				return true
			},
			done(func() {
				if ok {
					w.file = size
				}
			}),
			done(func() {
				w.known.EndTruncate(old, size, ok)
				w.busy = false
			}),
		}
	}}
}

// orders calls fn with each order in which the steps of calls may run: with the number of
// the call at each place.
func orders(left []int, order []int, fn func(order []int)) {
	over := true
	for i, n := range left {
		if n > 0 {
			over = false
			left[i]--
			orders(left, append(order, i), fn)
			left[i]++
		}
	}
	if over {
		fn(order)
	}
}

// check runs calls in each order, from a file that was 1000 bytes long when that was last
// known, and has file bytes now.
func check(t *testing.T, file int64, current bool, calls []call) {
	t.Helper()
	asks := file == 1000 // if another program has changed the file, one of the calls asks or meets the end
	left := make([]int, len(calls))
	for i, c := range calls {
		left[i] = len(c.steps(new(world)))
		asks = asks || c.name == stat.name || strings.HasPrefix(c.name, "read to 5000")
	}
	if !asks {
		return
	}
	orders(left, nil, func(order []int) {
		w := &world{file: 1000}
		if current {
			w.known.Answered(w.known.Before(), 1000)
		}
		w.file = file
		steps := make([][]func() bool, len(calls))
		for i, c := range calls {
			steps[i] = c.steps(w)
		}
		for _, i := range order {
			if !steps[i][0]() {
				return // not an order that can happen
			}
			steps[i] = steps[i][1:]
		}
		if w.known.Current() && w.known.Known() != w.file {
			var names []string
			for _, c := range calls {
				names = append(names, c.name)
			}
			t.Fatalf("from %d bytes, known to be 1000 (current %v): known %d, the file has %d, after %s in the order %v",
				file, current, w.known.Known(), w.file, strings.Join(names, ", "), order)
		}
		// The next question makes it current, if nothing happens beside it.
		for range 2 {
			w.known.Answered(w.known.Before(), w.file)
		}
		if !w.known.Current() || w.known.Known() != w.file {
			t.Fatalf("after two questions it is %d, current %v, and the file has %d", w.known.Known(), w.known.Current(), w.file)
		}
	})
}

// In each order of the steps of two and three calls, the length is right or stale.
func TestLength_Model(t *testing.T) {
	t.Parallel()
	if race.Detector {
		t.Skip("one goroutine alone: nothing races")
	}
	calls := []call{
		stat, appends, read(5000, false), read(5000, true), read(1100, true),
		write(600, 600), write(1500, 1500), write(1600, 1200), write(600, 300),
		truncate(100, true), truncate(1200, true), truncate(100, false),
	}
	n := 0
	for _, file := range []int64{1000, 100, 3000} { // 1000: no other program has changed it
		for _, current := range []bool{true, false} {
			for i, a := range calls {
				for j, b := range calls[i:] {
					check(t, file, current, []call{a, b})
					if !current {
						continue // it is asked again
					}
					for _, c := range calls[i+j:] {
						check(t, file, current, []call{a, b, c})
						n++
					}
				}
			}
		}
	}
	if n == 0 {
		t.Fatal("nothing was checked")
	}
}

// Four calls with the orders that three do not have: an answer, then one that is late.
func TestLength_ModelOfFour(t *testing.T) {
	t.Parallel()
	if testing.Short() || race.Detector {
		t.Skip("370,000 orders each")
	}
	check(t, 100, true, []call{stat, stat, write(600, 600), write(200, 200)})
	check(t, 1000, true, []call{stat, write(600, 600), truncate(100, true), truncate(300, true)})
	check(t, 100, true, []call{stat, read(5000, true), write(600, 600), truncate(200, true)})
}

func TestLength_Zero(t *testing.T) {
	t.Parallel()
	var l Length
	if l.Current() {
		t.Error("the zero value is current")
	}
	l.Answered(l.Before(), 0)
	if !l.Current() || l.Known() != 0 {
		t.Error("an answer of 0 is not current")
	}
}

// A write that ends late does not undo what was learnt after another program's truncation.
func TestReached_Late(t *testing.T) {
	t.Parallel()
	var l Length
	l.Answered(l.Before(), 100)
	was := l.Before()
	for range 2 {
		l.Answered(l.Before(), 50)
	}
	if !l.Current() || l.Known() != 50 {
		t.Fatalf("%d after two answers of 50, current %v", l.Known(), l.Current())
	}
	if l.Reached(was, 200); l.Current() {
		t.Errorf("%d is current", l.Known())
	}
}
