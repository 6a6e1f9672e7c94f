package pages

import (
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// Of writes past the end nothing is recorded: a log that grows does not pay for it.
func TestWrite_PastTheEnd(t *testing.T) {
	s := newSimulation(1)
	defer account.Unbound()
	s.open(BlockSize, true, false, false)
	account.Set(account.Max)
	for off := range int64(4 * LookEvery) {
		s.p.state.Or(recorded)
		s.p.Write(s, 100*off, 100, 100*off, reason.None)
	}
	if s.p.Known(0, 1) {
		t.Error("the pages of appended bytes are recorded")
	}
	s.p.Write(s, 0, 100, 100, reason.None)
	if !s.p.Known(0, 1) {
		t.Error("those of others are not")
	}
}

// Mapped writes that are page faults, or take only a little longer than system calls, end: another process
// has had the file written back. What they took is paid for, as long as the others that were not timed.
func TestTimed_ForeignSync(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for _, loses := range []int64{50, 800, 6500} {
		newSimulation(1)
		var p Pages
		p.Note(Prefaulted, 0, BlockSize)
		var w Writes
		lost := int64(0)
		for p.has(prefaultedShift, 0, 64) && lost < 5*account.Start {
			if lost += loses; !w.Count(64) {
				continue
			}
			p.Timed(&w, 64, time.Duration(prices.Call.First+loses))
			if paid := account.Start - account.Balance(); paid < lost {
				t.Errorf("%d of %d was paid", paid, lost)
			}
		}
		if lost > 2*account.Start+2*TimeEvery*loses {
			t.Errorf("with %d each, %d was lost", loses, lost)
		}
	}
}

// Which mapped writes are timed has no period that a program may share: of those with any period, each is
// timed as often.
func TestCount_NoPeriod(t *testing.T) {
	defer account.Unbound()
	newSimulation(1)
	var p Pages
	p.begin()
	var w Writes
	const writes = 400_000
	var timed []int
	for i := range writes {
		if w.Count(64) {
			p.Timed(&w, 64, 30)
			timed = append(timed, i)
		}
	}
	for period := 2; period <= 64; period++ {
		at := make([]int, period)
		for _, i := range timed {
			at[i%period]++
		}
		for i, n := range at {
			if want := len(timed) / period; n < want/2 || n > 2*want {
				t.Errorf("%d of %d writes that are %d modulo %d are timed, of %d", n, writes/period, i, period, want)
			}
		}
	}
}

// A timed mapped write that waited for a processor costs nothing, and does not stop mapped writes.
func TestTimed_OneHasWaited(t *testing.T) {
	defer account.Unbound()
	for _, begins := range []int64{-1, account.Max / 2} {
		newSimulation(1)
		account.Set(begins)
		var p Pages
		p.Note(Prefaulted, 0, BlockSize)
		var w Writes
		for timed := 0; timed < 2; {
			if w.Count(64) {
				took := time.Duration(30)
				if timed++; timed == 1 {
					took = time.Second
				}
				p.Timed(&w, 64, took)
			}
		}
		if !p.has(prefaultedShift, 0, BlockSize) || account.Balance() < begins {
			t.Errorf("prefaulted: %v; %d of %d are left", p.has(prefaultedShift, 0, 64), account.Balance(), begins)
		}
	}
}

// A mapping that fails at once says nothing of the next one's price.
func TestMap_Fails(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	price := prices.Mapping()
	for range 20 {
		if s.p.begin().mapFile(failing{s.simFile, 0}) {
			t.Fatal("it is mapped")
		}
	}
	if now := prices.Mapping(); now != price {
		t.Errorf("a mapping is believed to take %d ns, and %d before", now, price)
	}
}

// One that has waited and fails is paid as if it had not waited.
func TestMap_FailsLate(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	price := prices.Mapping()
	for _, took := range []int64{0, price / 2, 1e9} {
		account.Set(account.Max)
		if new(record).mapFile(failing{s.simFile, time.Duration(took)}) {
			t.Fatal("it is mapped")
		}
		if got, want := account.Max-account.Balance(), min(took, price); got != want {
			t.Errorf("%d ns are paid for one that took %d, want %d", got, took, want)
		}
	}
}

// A file for which there is no address space is not mapped again and again, however much the account has.
func TestMap_FailsOften(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at each call that comes back")
	}
	defer account.Unbound()
	for _, inOrder := range []bool{false, true} {
		s := newSimulation(1)
		s.open(16*BlockSize, true, false, false)
		s.fails = true
		const calls = 100_000
		for i := range int64(calls) {
			account.Set(account.Max)
			if inOrder {
				s.read(i*PageSize%s.size, PageSize)
			} else {
				s.read(s.random.Int64N(s.size-64), 64)
			}
		}
		if s.maps == 0 || s.maps > calls/200 {
			t.Errorf("in order %v: it was tried %d times in %d calls", inOrder, s.maps, calls)
		}
	}
}

// Long writes, some after short ones, that are too few between two calls of Sync to pay for a prefault, are not believed
// to, however much the account has.
func TestPrefault_FewLongWrites(t *testing.T) {
	if Eager {
		t.Skip("the eager policy prefaults at once")
	}
	defer account.Unbound()
	for _, large := range []bool{false, true} {
		for _, c := range []struct {
			long          int64
			shorts, times int
		}{{16 << 10, 3, 2}, {64 << 10, 0, 3}, {64 << 10, 1, 2}, {128 << 10, 0, 2}, {160 << 10, 0, 2}, {160 << 10, 12, 2}, {192 << 10, 0, 2}} {
			s := newSimulation(1)
			s.open(96*BlockSize, large, false, false)
			for range 50 {
				account.Set(account.Max)
				for off := int64(0); off+c.long <= s.size; off += max(c.long, BlockSize) {
					for range c.shorts {
						s.write(off, 64)
					}
					for range c.times {
						s.write(off, c.long)
					}
				}
				s.sync()
			}
			if t.Logf("%+v, large folios %v: %.2f of os.File", c, large, s.cost/s.base); s.cost > 1.1*s.base {
				t.Errorf("%+v, large folios %v: %.2f of os.File", c, large, s.cost/s.base)
			}
		}
	}
}

// A file that is read once in order is mapped later if only the first try fails: no call comes back.
func TestMap_FailsOnceInOrder(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(1024*BlockSize, true, false, false)
	s.fails = true
	for i := range s.size / PageSize {
		account.Set(account.Max)
		s.fails = s.fails && s.maps == 0
		s.read(i*PageSize, PageSize)
	}
	if s.maps < 2 || !s.mapped {
		t.Errorf("it was tried %d times; mapped: %v", s.maps, s.mapped)
	}
}

// Writes that no mapping could serve do not have the file mapped.
func TestWrite_MapsInVain(t *testing.T) {
	defer account.Unbound()
	for _, why := range []reason.Reason{reason.Unmappable, reason.HandedOut, reason.None} {
		s := newSimulation(1)
		s.open(BlockSize, true, false, false)
		account.Set(account.Max)
		for range 20 * LookEvery {
			s.p.Write(s, 0, 64, s.size, why)
		}
		if s.mapped != (why == reason.None) {
			t.Errorf("reason %d: mapped: %v", why, s.mapped)
		}
	}
}

// failing is a file that another call locks, for so long.
type failing struct {
	Host
	took time.Duration
}

func (f failing) Map() (time.Duration, bool) { return f.took, false }

// Once the mapping that waited for the account is made, calls are recorded again.
func TestMap_WaitsNoMore(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	account.Set(-1)
	for range mapFrom {
		s.p.wouldSave(s.simFile)
	}
	if trialWaits.Load() != waitLooks && !Eager {
		t.Fatal("no mapping waits")
	}
	account.Set(account.Max)
	if s.p.wouldSave(s.simFile); !s.mapped && !Eager {
		t.Fatal("not mapped")
	}
	if n := trialWaits.Load(); n > 0 {
		t.Errorf("no records are paid in %d looks", n)
	}
}

// A block that is written often enough is prefaulted, even if that has once taken too long.
func TestPrefault_HighPrice(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(2*BlockSize, true, false, false)
	prices.Prefault.Set(400_000)
	for range 2_000 {
		account.Set(account.Max) // it allows one block
		s.write(100, 64)
	}
	if !s.p.has(prefaultedShift, 100, 64) {
		t.Error("not prefaulted after 2,000 writes")
	}
}

// A mapping is paid with its end.
func TestMap_PaysItsEnd(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	for i := range 40 {
		s.open(BlockSize, true, false, false)
		account.Set(account.Max)
		began := s.cost
		s.p.begin().mapFile(s.simFile)
		s.both(-openPrice)
		s.close()
		if took, paid := int64(s.cost-began)+openPrice, account.Max-account.Balance(); i > 20 && (paid < took || paid > took*3/2) {
			t.Errorf("%d was paid for a mapping that took %d", paid, took)
		}
	}
}

// So are prefaults, even if the faults of the process were of other files, at the latest at Close.
func TestPrefault_PaysItsEnd(t *testing.T) {
	defer account.Unbound()
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		prices.Fault.Set(1_000)
		for i := range 40 {
			s.open(16*BlockSize, large, false, false)
			account.Set(account.Max)
			began := s.cost
			s.p.begin().mapFile(s.simFile)
			if i%8 == 7 { // what it takes to unmap the file is measured with the others
				s.p.Note(Seen, 0, s.size)
				for block := range int64(16) {
					s.p.word(block).Or(writesMax << writesShift)
				}
				if !s.p.Prefault(s.simFile, 0, int(s.size)) {
					t.Fatal("not prefaulted")
				}
			}
			s.both(-openPrice)
			s.close()
			if took, paid := int64(s.cost-began)+openPrice, account.Max-account.Balance(); i > 20 && (paid < took*9/10 || paid > took*3/2) {
				t.Errorf("large folios %v: %d was paid for a mapping and prefaults that took %d", large, paid, took)
			}
		}
	}
}

// What Close takes for blocks that were prefaulted is no price of the next mapping.
func TestClosed_LeavesOutPrefaults(t *testing.T) {
	defer account.Unbound()
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		for range 20 {
			account.Set(account.Max)
			s.open(16*BlockSize, large, false, false)
			s.p.begin().mapFile(s.simFile)
			for block := range int64(16) {
				s.p.word(block).Or(writesMax << writesShift)
			}
			if !s.p.Prefault(s.simFile, 0, int(s.size)) {
				t.Fatal("not prefaulted")
			}
			s.close()
		}
		if price := prices.Unmap.Now(); price > 6_000 {
			t.Errorf("large folios %v: the end of a mapping is believed to take %d", large, price)
		}
	}
}

// waitingFile is a file of which a prefault seems to take three milliseconds.
type waitingFile struct{ *simFile }

func (f waitingFile) Prefault(off, end int64) (time.Duration, bool) {
	_, ok := f.simFile.Prefault(off, end)
	return 3 * time.Millisecond, ok
}

// If a prefault has waited for a processor, and Close has, too, the account goes on.
func TestPrefault_EndOfOneThatWaited(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(16*BlockSize, false, false, false)
	s.p.begin().mapFile(s.simFile)
	prices.Prefault.Set(10_000)
	s.p.Note(Seen, 0, s.size)
	s.p.word(0).Or(writesMax << writesShift)
	account.Set(account.Max)
	if !s.p.Prefault(waitingFile{s.simFile}, 0, 64) {
		t.Fatal("not prefaulted")
	}
	s.p.Closed(reason.Unpaid, 3*time.Millisecond)
	if account.Balance() < account.Max/2 {
		t.Errorf("%d of %d are left", account.Balance(), account.Max)
	}
}

// If one of the writes that are not timed is small, they count as small ones.
func TestTimed_Sizes(t *testing.T) {
	defer account.Unbound()
	const long, saved = 12 << 10, 1_000
	for start := range uint32(16) {
		newSimulation(1)
		random = func() uint32 { return start << 28 }
		prices.Call.Set(400)
		for range 3 {
			prices.TookWrite(long, 4_000)
		}
		var p Pages
		var w Writes
		p.Timed(&w, 6, 400) // so that it begins there
		account.Set(0)
		small := prices.OfWrite(0)
		others, n := int64(0), 6
		for ; !w.Count(n); others++ {
			n = 6 + long - n
		}
		p.Timed(&w, n, time.Duration(max(prices.OfWrite(int64(n))-saved, 0)))
		if earned, most := account.Balance(), saved+others*small; n != 6 && others > 0 && earned > most {
			t.Errorf("from %d on: %d are earned by %d writes, want %d at most", start, earned, others+1, most)
		}
	}
}

// Of a write of several blocks, those that are prefaulted already are not paid for again.
func TestPrefault_Some(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(4*BlockSize, false, false, false)
	s.mapped, s.known = true, s.size
	for range 200 {
		s.write(0, 2*BlockSize)
	}
	account.Set(1 << 40)
	s.p.Note(Prefaulted, 0, BlockSize)
	tries := s.tries
	if !s.p.Prefault(s.simFile, 0, 2*BlockSize) {
		t.Fatal("not prefaulted")
	}
	if got := s.tries - tries; got > 1 {
		t.Errorf("%d prefaults of one block", got)
	}
}

// A SyncRange elsewhere does not keep a block from being prefaulted.
func TestPrefault_BesideSyncRange(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(4*BlockSize, true, false, false)
	for range 4000 {
		s.write(s.random.Int64N(BlockSize-64), 64)
		s.both(syncPrice)
		s.p.Synced(2*BlockSize, 2*BlockSize+PageSize)
	}
	if s.simFile.calls > 1000 {
		t.Errorf("%d of 4,000 writes were system calls", s.simFile.calls)
	}
}

// The question whether a block is in memory is paid with its prefault, unless that is known, and so is its end, unless the
// block is mapped.
func TestPrefault_Asks(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for _, c := range []struct {
		known Mark
		pays  func() int64
	}{
		{0, func() int64 { return largePrefault + preadPrice + prices.EndOfBlock() }},
		{Seen, func() int64 { return largePrefault + prices.EndOfBlock() }},
		{Ready, func() int64 { return largePrefault }},
	} {
		s := newSimulation(1)
		s.open(BlockSize, true, false, false)
		if s.mapped, s.known = true, s.size; c.known > 0 {
			s.p.Note(c.known, 0, BlockSize)
		}
		s.p.word(0).Or(writesMax << writesShift)
		before := account.Balance()
		trialWaits.Store(waitLooks) // it could not be paid before
		if !s.p.Prefault(s.simFile, 0, 64) {
			t.Fatal("not prefaulted")
		}
		if n := trialWaits.Load(); n > 0 {
			t.Errorf("known: %x; no records are paid in %d looks", c.known, n)
		}
		if got, want := before-account.Balance(), c.pays(); got != want {
			t.Errorf("known: %x; %d ns are paid, want %d", c.known, got, want)
		}
	}
}

// A block that cannot be prefaulted is tried again after many writes only.
func TestPrefault_RefusedAgain(t *testing.T) {
	if Eager {
		t.Skip("the eager policy tries each time")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(4*BlockSize, true, false, false)
	s.mapped, s.known = true, s.size
	h, writes := &holes{Host: s.simFile}, 10_000
	for range writes {
		account.Set(account.Max)
		s.p.state.Or(recorded)
		if s.p.Prefault(h, 0, 64) {
			t.Fatal("not refused")
		}
		s.p.Write(h, 0, 64, s.size, reason.None)
	}
	if h.tries == 0 || h.tries > writes/200 {
		t.Errorf("%d prefaults are tried in %d writes", h.tries, writes)
	}
}

// holes is a file with holes.
type holes struct {
	Host
	tries int
}

func (r *holes) Prefault(_, _ int64) (time.Duration, bool) {
	r.tries++
	return 1000, false
}

// A prefault that the system refuses is paid for as well.
func TestPrefault_Refused(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(4*BlockSize, false, false, false)
	s.mapped, s.refuses, s.tries = true, true, 2
	s.p.Note(Seen, 0, BlockSize)
	s.p.begin().Word(0).Or(writesMax << writesShift)
	before := account.Balance()
	if s.p.Prefault(s.simFile, 0, 64) {
		t.Fatal("not refused")
	}
	if got := before - account.Balance(); got != largePrefault {
		t.Errorf("%d ns are paid for one that took %d", got, largePrefault)
	}
}

// A long write that no account affords keeps no other file from being recorded.
func TestPrefault_NothingWaitsForReserve(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no account")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(128*BlockSize, true, false, false)
	s.mapped, s.known = true, s.size
	s.p.Note(Prefaulted, 0, s.size)
	account.Set(account.Max)
	if s.p.Prefault(s.simFile, 0, 4<<20) || trialWaits.Load() != 0 {
		t.Errorf("%d looks wait", trialWaits.Load())
	}
}

// A mapped write that took longer than any page fault has waited for a processor, and tells nothing.
func TestTimed_Waited(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	newSimulation(1)
	var p Pages
	for _, c := range []struct {
		took  time.Duration
		loses bool
	}{{5 * time.Microsecond, true}, {10 * time.Millisecond, false}} {
		account.Set(0)
		w := Writes{n: 3, least: 1, size: 4}
		p.Timed(&w, 64, c.took)
		if lost := account.Balance() < 0; lost != c.loses {
			t.Errorf("%v: %d are left", c.took, account.Balance())
		}
	}
}

// After a mapped write that lost, one of the next four is timed.
func TestTimed_LossIsTimedSoon(t *testing.T) {
	defer account.Unbound()
	newSimulation(1)
	var p Pages
	var w Writes
	for range 50 {
		p.Timed(&w, 64, time.Duration(prices.Call.First+2_000))
		for n := 1; !w.Count(64); n++ {
			if n == 4 {
				t.Fatalf("none of %d writes is timed", n)
			}
		}
	}
}

// The first write of each size is timed: nothing else tells what it takes in this file.
func TestTimesWrite_EachSize(t *testing.T) {
	newSimulation(1)
	var p Pages
	for _, n := range []int{64, 2 << 10, 64 << 10} {
		if !p.TimesWrite(n) {
			t.Errorf("the first write of %d bytes is not timed", n)
		}
		p.Took(Write, int64(n), time.Microsecond)
		if p.TimesWrite(n) {
			t.Errorf("the second write of %d bytes is timed", n)
		}
	}
}
