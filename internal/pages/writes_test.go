package pages

import (
	"testing"
	"time"
)

// Mapped writes that take as long as page faults stop once two in a row were timed: another process has
// had the file written back. What they took is paid for, as long as the others that were not timed.
func TestTimed_ForeignSync(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	account.Store(accountMax / 2)
	var p Pages
	p.Note(Prefaulted, 0, BlockSize)
	var w Writes
	timed := 0
	for p.has(prefaultedShift, 0, 64) && timed < 3 {
		if w.Count(64) {
			p.Timed(&w, 64, 4*time.Microsecond)
			timed++
		}
	}
	if timed != 2 || p.has(prefaultedShift, 0, 64) {
		t.Errorf("the page is prefaulted after %d writes that were faults: %v", timed, p.has(prefaultedShift, 0, 64))
	}
	if paid := accountMax/2 - account.Load(); paid < 2*16*(4000-firstCall) && !Eager {
		t.Errorf("%d was paid", paid)
	}
}

// Which mapped writes are timed has no period that a program may share.
func TestCount_NoPeriod(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	var p Pages
	p.begin()
	var w Writes
	gaps, since := map[int]bool{}, 0
	for range 100 * TimeEvery {
		if since++; w.Count(64) {
			p.Timed(&w, 64, 30)
			gaps[since] = true
			since = 0
		}
	}
	if len(gaps) < 8 {
		t.Errorf("%d distances only", len(gaps))
	}
}

func TestPrice_Moves(t *testing.T) {
	t.Parallel()
	p := price{first: 1000}
	for _, c := range []struct {
		took, want int64
		doubt      bool
	}{
		{took: 1_000_000, want: 4000}, // the first one is believed, up to a bound
		{took: 1_000_000, want: 4501},
		{took: 501, want: 3501},
		{doubt: true, want: 3063},
		{took: 800, want: 800},
		{doubt: true, want: 800}, // it forbids nothing
	} {
		if c.doubt {
			p.doubt()
		} else {
			p.set(c.took)
		}
		if got := p.now(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A timed mapped write that waited for a processor does not empty the account, nor stop mapped writes.
func TestTimed_OneHasWaited(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	account.Store(accountMax / 2)
	var p Pages
	p.Note(Prefaulted, 0, BlockSize)
	var w Writes
	for !w.Count(64) {
	}
	p.Timed(&w, 64, time.Second)
	if !p.has(prefaultedShift, 0, 64) || !affords(accountMax/4) {
		t.Errorf("prefaulted: %v; %d of %d are left", p.has(prefaultedShift, 0, 64), account.Load(), accountMax/2)
	}
}

// A block that is written often enough is prefaulted, even if that has once taken too long.
func TestPrefault_HighPrice(t *testing.T) {
	defer Unbound()
	s := newSimulation(1)
	s.open(2*BlockSize, true, false, false)
	prefaultPrice.measured.Store(400_000)
	for range 2_000 {
		account.Store(accountMax) // it allows one block
		s.write(100, 64)
	}
	if !s.p.has(prefaultedShift, 100, 64) {
		t.Error("not prefaulted after 2,000 writes")
	}
}
