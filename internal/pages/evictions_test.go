package pages

import (
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
)

// mappedBlock is a simulation whose file has a block that reads copy from the mapping.
func mappedBlock(t *testing.T) *simulation {
	t.Helper()
	t.Cleanup(account.Unbound)
	s := newSimulation(1)
	account.Unbound()
	s.open(2*BlockSize, true, false, true)
	for range 10 * LookEvery {
		s.read(100, 64)
	}
	if !s.p.Ready(100, 64) {
		t.Fatal("the block is not ready")
	}
	return s
}

// Major faults are noticed by system calls, also of another file, and without any by the timer.
func TestLook_AfterEviction(t *testing.T) {
	for _, c := range []struct {
		by    string
		wait  time.Duration
		other bool
	}{{"system calls", evictions.Pause, true}, {"the timer", evictions.Tick, false}} {
		s := mappedBlock(t)
		gen := evictions.Generation()
		s.evict()
		s.read(100, 64)
		if s.majors == 0 {
			t.Fatal("no major fault")
		}
		if c.other {
			s.open(BlockSize, true, false, false)
			s.fails = true
		}
		s.cost += float64(c.wait)
		for range 2 * LookEvery {
			s.read(200, 64)
		}
		if evictions.Generation() == gen {
			t.Errorf("no major fault is noticed by %s", c.by)
		}
	}
}

// Without a major fault, or while a test holds the pages, nothing is forgotten, whatever the time.
func TestLook_WithoutEviction(t *testing.T) {
	s := mappedBlock(t)
	gen := evictions.Generation()
	for _, evicted := range []bool{false, true} {
		if evicted {
			t.Cleanup(evictions.Hold())
			s.evict()
		}
		for range 10 {
			s.cost += float64(evictions.Tick)
			for range LookEvery {
				s.read(100, 64)
			}
		}
		if evictions.Generation() != gen {
			t.Errorf("pages are forgotten; evicted: %v", evicted)
		}
	}
}

// Looks that are closer than evictions.Pause ask the system once.
func TestLook_Pause(t *testing.T) {
	s := mappedBlock(t)
	s.cost += float64(evictions.Pause)
	began := s.cost
	for range 100 {
		evictions.Look()
	}
	if asked := s.cost - began; asked > rusagePrice && evictions.Pause > 0 {
		t.Errorf("%.0f ns for 100 looks", asked)
	}
}

// The timer ends with the last mapping, and begins with the next.
func TestWatch_WhileMapped(t *testing.T) {
	s := mappedBlock(t)
	for range 3 {
		s.cost += float64(evictions.Tick)
		if s.tick(); s.timer == nil {
			t.Fatal("no timer while a file is mapped")
		}
	}
	s.close()
	s.cost += float64(evictions.Tick)
	if s.tick(); s.timer != nil {
		t.Error("a timer while nothing is mapped")
	}
	s.open(BlockSize, true, false, false)
	for range 10 * LookEvery {
		s.read(100, 64)
	}
	if s.timer == nil {
		t.Error("no timer for the next mapping")
	}
}

// blind is a process whose system does not count major faults.
type blind struct{ *simulation }

func (blind) MajorFaults() (int64, bool) { return 0, false }

// Where major faults are not counted, what is known ends after some time.
func TestLook_Blind(t *testing.T) {
	s := mappedBlock(t)
	evictions.OfProcess = blind{s}
	forgotten := func() bool {
		s.tick()
		return !s.p.Ready(100, 64)
	}
	if s.cost += float64(evictions.Blind) / 2; forgotten() && !Eager {
		t.Error("forgotten too early")
	}
	if s.cost += float64(evictions.Blind); !forgotten() {
		t.Error("never forgotten")
	}
}
