package pages

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// Each reason has calls most of which have it.
func TestCalls_Reasons(t *testing.T) {
	defer account.Unbound()
	if Eager {
		t.Skip("the eager policy waits for nothing")
	}
	const n = 10 * LookEvery
	reread := func(s *simulation, off int64) {
		for range n {
			s.read(off, 64)
		}
	}
	// readWith is reread of recorded calls with ns in the account.
	readWith := func(s *simulation, off, ns int64) {
		for range n {
			account.Set(ns)
			s.p.state.Or(recorded)
			s.read(off, 64)
		}
	}
	// call makes a call whose result says more than that of a simulated one.
	call := func(s *simulation, record func()) {
		s.simFile.calls++
		if !s.p.Early(64, false) {
			record()
		}
	}
	for _, c := range []struct {
		name    string
		why     reason.Reason
		size    int64
		prepare func(s *simulation)
		run     func(s *simulation)
	}{
		{"few calls", reason.First, BlockSize, nil, func(s *simulation) {
			for range LookEvery - 1 {
				s.read(0, 64)
			}
		}},
		{"one pass", reason.Unseen, n * PageSize, nil, func(s *simulation) {
			for i := range int64(n) {
				s.read(i*PageSize, 64)
			}
		}},
		{"one pass in small calls", reason.Unseen, n * 1000, func(s *simulation) { s.fails = true }, func(s *simulation) {
			for i := range int64(n) {
				s.read(i*1000, 1000)
			}
		}},
		{"a file that cannot be mapped yet", reason.Unmapped, BlockSize, func(s *simulation) { s.fails = true; account.Set(account.Max) }, func(s *simulation) { reread(s, 0) }},
		{"each block again", reason.Seldom, n * BlockSize, func(s *simulation) {
			reread(s, 0)
			for i := range int64(n) {
				s.read(i*BlockSize, 64)
			}
		}, func(s *simulation) {
			for i := range int64(n) {
				s.read(i*BlockSize, 64)
			}
		}},
		{"writes that are few after each sync", reason.Seldom, 4 * BlockSize, func(s *simulation) { reread(s, 0) }, func(s *simulation) {
			for i := range int64(n) {
				s.write(i%4*BlockSize, 64)
				if i%4 == 3 {
					s.sync()
				}
			}
		}},
		{"an empty account", reason.Unpaid, BlockSize, func(s *simulation) { account.Set(-1 << 40); reread(s, 0) }, func(s *simulation) { reread(s, 0) }},
		{"an account for no mapping", reason.Unpaid, BlockSize, func(s *simulation) { readWith(s, 0, prices.Mapping()-1000) },
			func(s *simulation) { readWith(s, 0, prices.Mapping()-1000) }},
		{"an account for no fault", reason.Unpaid, 4 * BlockSize, func(s *simulation) { reread(s, 0) },
			func(s *simulation) { readWith(s, 2*BlockSize, -1000) }},
		{"an account for no prefault", reason.Unpaid, 4 * BlockSize, func(s *simulation) { reread(s, 0) }, func(s *simulation) {
			for range n {
				account.Set(prices.Prefault.Now() - 1000)
				s.p.state.Or(recorded)
				s.write(0, 64)
			}
		}},
		{"an account for no fault of each page", reason.Unpaid, 128 * BlockSize, func(s *simulation) {
			reread(s, 0)
			for range 8 {
				s.p.state.Or(recorded)
				s.write(0, 4<<20)
			}
		}, func(s *simulation) {
			for range n {
				account.Set(account.Max)
				s.p.state.Or(recorded)
				s.write(0, 4<<20)
			}
		}},
		{"zeros at the end", reason.Unproven, BlockSize, func(s *simulation) { s.zeros = true; reread(s, BlockSize-64) },
			func(s *simulation) { reread(s, BlockSize-64) }},
		{"long reads that take longer from the mapping", reason.Slower, 4 * BlockSize, func(s *simulation) { reread(s, 0) }, func(s *simulation) {
			s.p.copiesAreDear(Long)
			for range n {
				s.read(BlockSize, Long)
			}
		}},
		{"reads that meet the end", reason.PastEnd, BlockSize, nil, func(s *simulation) {
			for range n {
				call(s, func() { s.p.Read(s, BlockSize-64, 64, true, false) })
			}
		}},
		{"writes past the end", reason.PastEnd, BlockSize, nil, func(s *simulation) {
			for i := range int64(n) {
				call(s, func() { s.p.Write(s, BlockSize+i*64, 64, BlockSize+i*64, reason.None) })
			}
		}},
		{"writes for which the file says why", reason.Unmappable, BlockSize, nil, func(s *simulation) {
			for range n {
				call(s, func() { s.p.Write(s, 0, 64, BlockSize, reason.Unmappable) })
			}
		}},
		{"what is not recorded", reason.Storage, BlockSize, nil, func(s *simulation) {
			for range n {
				call(s, func() { s.p.Refused(func() reason.Reason { return reason.Storage }) })
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := reason.OfProcess()
			s := newSimulation(1)
			s.open(c.size, true, false, false)
			if c.prepare != nil {
				c.prepare(s)
			}
			prepared := s.p.Calls(reason.Storage)
			c.run(s)
			calls := s.p.Calls(reason.Storage)
			of, all := calls[c.why]-prepared[c.why], total(calls)-total(prepared)
			if all == 0 || 10*of < 9*all {
				t.Errorf("%d of %d calls have reason %d: %d, and %d before", of, all, c.why, calls, prepared)
			}
			if n := total(calls); n != s.simFile.calls {
				t.Errorf("%d are %d system calls, want %d", calls, n, s.simFile.calls)
			}
			s.p.Closed(reason.Storage, 0)
			for why, n := range reason.OfProcess() {
				if n -= before[why]; n != calls[why] {
					t.Errorf("reason %d: the process has %d calls, and the file %d", why, n, calls[why])
				}
			}
		})
	}
}

// Calls that are not recorded have the reason of the one that begins the next group, also before that.
func TestCalls_Unrecorded(t *testing.T) {
	if Eager {
		t.Skip("the eager policy waits for nothing")
	}
	defer account.Unbound()
	const n = 20*LookEvery + LookEvery/2
	for _, c := range []struct {
		name string
		why  reason.Reason
		call func(s *simulation, i int64)
	}{
		{"reads", reason.Unpaid, func(s *simulation, i int64) { s.p.Read(s, 0, 64, false, false) }},
		{"reads that meet the end", reason.PastEnd, func(s *simulation, i int64) { s.p.Read(s, BlockSize-64, 64, true, false) }},
		{"reads that nothing proves", reason.Unproven, func(s *simulation, i int64) { s.p.Read(s, BlockSize-64, 64, false, true) }},
		{"reads of a block that waits", reason.Unproven, func(s *simulation, i int64) {
			s.mapped, s.known = true, s.size
			s.p.word(0).Or(waiting << readsShift)
			s.p.Read(s, 0, 64, false, false)
		}},
		{"writes past the end", reason.PastEnd, func(s *simulation, i int64) { s.p.Write(s, i*64, 64, i*64, reason.None) }},
		{"writes for which the file says why", reason.Unmappable, func(s *simulation, i int64) { s.p.Write(s, 0, 64, BlockSize, reason.Unmappable) }},
		{"refused calls", reason.HandedOut, func(s *simulation, i int64) { s.p.Refused(func() reason.Reason { return reason.HandedOut }) }},
	} {
		s := newSimulation(1)
		account.Set(-1 << 40)
		s.open(BlockSize, true, false, false)
		for i := range int64(n) {
			if !s.p.Early(64, false) {
				c.call(s, i)
			}
		}
		if calls := s.p.Calls(reason.None); 10*calls[c.why] < 9*(n-LookEvery) || total(calls) != n {
			t.Errorf("%s: %d of %d calls", c.name, calls, n)
		}
	}
}

// Calls that are refused keep no others from being recorded, whatever their period.
func TestRefused_AmongReads(t *testing.T) {
	defer account.Unbound()
	for period := 2; period <= 2*LookEvery; period++ {
		for refused := range period {
			s := newSimulation(1)
			s.open(BlockSize, true, false, false)
			for i := 0; i < 200*LookEvery && !s.mapped; i++ {
				if i%period != refused {
					s.read(s.random.Int64N(BlockSize-64), 64)
				} else if !s.p.Early(64, false) {
					s.p.Refused(func() reason.Reason { return reason.HandedOut })
				}
			}
			if !s.mapped {
				t.Errorf("one of %d calls is refused, number %d: the file is not mapped", period, refused)
			}
		}
	}
}

// quiet is a file that several goroutines may ask.
type quiet struct{ Host }

func (quiet) MapsTo(int64) bool            { return false }
func (quiet) TimeCall(int64) time.Duration { return 0 }
func (quiet) Size(int64) int64             { return 0 }
func (quiet) InOrder(bool)                 {}

// Of calls at the same time some are not counted, and none is counted twice, whenever someone asks, and whenever the file
// is closed.
func TestCalls_AtTheSameTime(t *testing.T) {
	defer account.Unbound()
	account.Set(-1 << 40)
	for round := range 20 {
		var p Pages
		var made atomic.Uint64
		process, open := total(reason.OfProcess()), true
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for i := range int64(10_000) {
					made.Add(1)
					switch off := i % 16 << pageBits; {
					case i%64 < 8:
						p.Refused(func() reason.Reason { return reason.Storage })
					case p.Early(64, false):
					case i%64 < 40:
						p.Read(quiet{}, off, 64, false, false)
					default:
						p.Write(quiet{}, off, 64, off+64, reason.None)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { callers.Wait(); close(done) }()
		for asked := false; !asked; {
			select {
			case <-done:
				asked = true
			default:
			}
			if open && made.Load() >= uint64(500+round*500) || open && asked {
				p.Closed(reason.Unpaid, 0)
				open = false
			}
			if n := total(p.Calls(reason.Unpaid)); n > made.Load() {
				callers.Wait()
				t.Fatalf("%d calls are counted of %d", n, made.Load())
			}
		}
		if total(p.Calls(reason.Unpaid)) == 0 {
			t.Errorf("no calls are counted of %d", made.Load())
		}
		if n := total(reason.OfProcess()) - process; n > made.Load() {
			t.Errorf("the process has %d calls of %d", n, made.Load())
		}
	}
}

// Those that are not recorded stay those of a closed file, and a call that ends after Close moves none of them again.
func TestClosed_CallInFlight(t *testing.T) {
	defer account.Unbound()
	why := func() reason.Reason { return reason.Storage }
	for _, call := range []func(p *Pages){
		func(p *Pages) { p.Refused(why) },
		func(p *Pages) {
			if !p.Early(64, false) {
				p.Write(quiet{}, 0, 64, 64, reason.None)
			}
		},
	} {
		var p Pages
		before := total(reason.OfProcess())
		for range LookEvery - 1 {
			call(&p)
		}
		p.Closed(reason.Storage, 0)
		for range 3 {
			call(&p)
		}
		if n := total(reason.OfProcess()) - before; n != LookEvery-1 {
			t.Errorf("the process has %d calls, want %d", n, LookEvery-1)
		}
		if n := total(p.Calls(reason.Storage)); n != LookEvery-1 {
			t.Errorf("the file has %d calls, want %d", n, LookEvery-1)
		}
	}
}

func TestCalls_Allocations(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	s.p.Read(s, 0, AheadBytes, false, false) // is recorded
	if n := testing.AllocsPerRun(10*LookEvery, func() { s.p.Read(s, 0, 64, true, false); s.p.Calls(reason.Unpaid) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
