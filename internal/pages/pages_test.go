package pages

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

func TestPages_Model(t *testing.T) {
	t.Parallel()
	const all = 10 << 20 / (1 << pageBits) // pages, of three leaves
	masks := map[string]struct {
		bits  Mark
		shift uint
	}{"seen": {Seen, 0}, "ready": {Ready, readyShift}, "prefaulted": {Prefaulted, prefaultedShift}}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var p Pages
		known := map[string]map[int]bool{"seen": {}, "ready": {}, "prefaulted": {}}
		// span returns a range of bytes, and its pages, in whole or in part.
		span := func() (off, n int64, first, last int) {
			off = r.Int64N(all<<pageBits - 1)
			n = 1 + r.Int64N(min(all<<pageBits-off, 1<<(4+r.IntN(22))))
			return off, n, int(off >> pageBits), int((off + n - 1) >> pageBits)
		}
		for op := range 300 {
			off, n, first, last := span()
			switch r.IntN(5) {
			case 0:
				p.Note(Seen, off, n)
			case 1:
				p.Note(Ready, off, n)
			case 2:
				p.Note(Prefaulted, off, n)
			case 3:
				if r.IntN(8) == 0 {
					p.Truncated(off)
					for page := first / 16 * 16; page < all; page++ {
						for _, pages := range known {
							delete(pages, page)
						}
					}
				}
				continue
			case 4:
				if n < 4<<20 {
					p.Synced(off, off+n)
					for page := first / 16 * 16; page < last/16*16+16; page++ {
						delete(known["prefaulted"], page)
					}
				}
				continue
			}
			for page := first; page <= last; page++ {
				known["seen"][page] = true
				if p.has(readyShift, off, 1) {
					known["ready"][page] = known["ready"][page] || p.has(readyShift, int64(page)<<pageBits, 1)
				}
				known["prefaulted"][page] = known["prefaulted"][page] || p.has(prefaultedShift, int64(page)<<pageBits, 1)
			}
			for kind, m := range masks {
				off, n, first, last := span()
				want := true
				for page := first; page <= last && want; page++ {
					want = p.begin().Word(uint64(page/16)) != nil && p.begin().Word(uint64(page/16)).Load()>>m.shift>>(page%16)&1 == 1
				}
				if got := p.has(m.shift, off, int(n)); got != want {
					t.Fatalf("seed %d, operation %d: %s of %d bytes at %d: %v, want %v", seed, op, kind, n, off, got, want)
				}
				if kind == "seen" {
					model := true
					for page := first; page <= last && model; page++ {
						model = known["seen"][page]
					}
					if want != model {
						t.Fatalf("seed %d, operation %d: seen %v, want %v", seed, op, want, model)
					}
				}
			}
		}
	}
}

// A page at a large offset is none at another one.
func TestPages_LargeOffsets(t *testing.T) {
	t.Parallel()
	offs := []int64{0, 1 << 30, 1<<40 - 100, 1<<40 + 5<<22, 1<<47 + 9<<22, 1<<53 + 13<<22, 1 << 61}
	var p Pages
	for i, off := range offs {
		if p.Note(Seen, off, 64); !p.Known(off, 1) {
			t.Errorf("a page at %d is not recorded", off)
		}
		for _, other := range offs[i+1:] {
			if p.Known(other, 1) {
				t.Errorf("a page at %d is recorded, and found at %d", off, other)
			}
		}
	}
}

// An eviction makes all pages unknown, and the table is used again.
func TestPages_Evict(t *testing.T) { // of all files, so not beside other tests
	var p Pages
	for range 20 {
		for off := int64(0); off < 64<<20; off += 1 << 20 {
			if p.Note(Ready, off, 64); !p.Ready(off, 64) {
				t.Fatal("not recorded")
			}
		}
		if evictions.Evict(); p.Known(0, 1) || p.Draw(0, 1, true) != System || p.Draw(5<<20, 1, true) != System {
			t.Fatal("known after an eviction")
		}
	}
	if got := p.begin().Places(); got > 4*64 {
		t.Errorf("%d places for 64 groups", got)
	}
}

// A Sync beside writes leaves no page prefaulted that a later Sync does not reset.
func TestPages_SyncBesidePrefault(t *testing.T) {
	t.Parallel()
	for range 200 {
		var p Pages
		p.Note(Seen, 0, BlockSize)
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			for range 50 {
				p.Note(Prefaulted, 0, BlockSize)
			}
		}()
		go func() {
			defer both.Done()
			for range 50 {
				p.Synced(0, 4<<20)
			}
		}()
		both.Wait()
		p.Note(Prefaulted, 0, BlockSize)
		p.Synced(0, 4<<20)
		if p.has(prefaultedShift, 0, 1) {
			t.Fatal("prefaulted after a Sync")
		}
	}
}

// A Sync beside a prefault leaves no block prefaulted that has no flag, also if two blocks have one flag.
func TestNote_SyncBesideFlag(t *testing.T) {
	t.Parallel()
	const other = 129 * 8 * BlockSize // in a table of 128 places
	var p Pages
	for at := int64(0); at < 64*8*BlockSize; at += 8 * BlockSize {
		p.Note(Seen, at, 1)
	}
	p.Note(Seen, other, 1)
	p.Note(Prefaulted, 0, BlockSize)
	if n := p.begin().Places(); n != 128 || p.begin().Flags(other>>blockBits) == 0 {
		t.Fatalf("%d places, and the blocks have flags of their own", n)
	}
	for range 20_000 {
		p.Synced(0, math.MaxInt64)
		p.Note(Prefaulted, 0, BlockSize)
		var noted sync.WaitGroup
		noted.Go(func() { p.Note(Prefaulted, other, BlockSize) })
		for range 4 {
			p.Synced(0, math.MaxInt64)
			p.Note(Prefaulted, 0, BlockSize)
		}
		p.Synced(0, math.MaxInt64)
		if noted.Wait(); p.begin().Has(prefaultedShift, other, 1) && p.begin().Flags(uint64(other)>>blockBits)&blocks.ForWrites == 0 {
			t.Fatal("a block is prefaulted, and its writes do not look at it")
		}
	}
}

// A Sync of a range across groups resets its blocks, and no others.
func TestPages_SyncedRange(t *testing.T) {
	t.Parallel()
	const group = 8 * BlockSize
	var p Pages
	p.Note(Prefaulted, 0, 2*group)
	const off, end = group / 2, group + BlockSize + 1
	p.Synced(off, end)
	for at := int64(0); at < 2*group; at += BlockSize {
		if got, want := p.has(prefaultedShift, at, BlockSize), at < off || at >= end; got != want {
			t.Errorf("block at %d is prefaulted: %v", at, got)
		}
	}
}

// Reads past the offsets that the state has room for are in order, too.
func TestPages_OrderAtLargeOffsets(t *testing.T) {
	defer account.Unbound()
	for _, off := range []int64{0, 1 << 50} {
		s := newSimulation(1)
		s.open(1<<60, true, false, true)
		for range LookEvery + readyFrom + 2 {
			s.p.Read(s, off, 4096, false, false)
			off += 4096
		}
		if !s.told {
			t.Errorf("reads up to %d are not in order", off)
		}
	}
}

// The front never tells more than the words do.
func TestDraw_Front(t *testing.T) {
	if Eager {
		t.Skip("the eager policy counts all mapped calls")
	}
	const size = 24 << 20
	moved := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var p Pages
		h := &simFile{s: newSimulation(1), p: &p, size: size, known: size, mapped: true, faulted: map[int64]int64{}, dirty: map[int64]bool{}}
		for op := range 20_000 {
			account.Set(account.Max)
			account.Earn(1) // it is full
			off := r.Int64N(size)
			n := 1 + r.Int64N(min(size-off, 1<<(4+r.IntN(10))))
			switch k := r.IntN(1000); {
			case k < 1:
				p.Truncated(off)
			case k < 2 && seed%2 == 0:
				evictions.Evict()
			case k < 4:
				p.Note(Ready, 0, off+n)
			case k < 30:
				p.Read(h, off, n, false, false)
			}
			want := p.has(readyShift, off, int(n))
			if got := p.Draw(off, int(n), true) != System; got != want {
				t.Fatalf("seed %d, operation %d: %d bytes at %d are ready: %v", seed, op, n, off, !want)
			}
			if p.front.Before(2 * BlockSize) {
				moved++
			}
		}
	}
	if moved < 10_000 {
		t.Errorf("the front told something in %d calls only", moved)
	}
}

// Where most reads end in zeros of the last page, they are not tried from the mapping for ever.
func TestRead_ZerosOfTheLastPage(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(5*PageSize+100, true, false, false)
	s.zeros = true
	const page = 5 * PageSize
	tried := 0
	for range 400 {
		if s.p.Ready(page, 64) {
			tried++
		}
		s.read(page, 64)
	}
	if tried > 200 {
		t.Errorf("%d of 400 reads of the last page are tried from the mapping", tried)
	}
	s.size += PageSize
	s.read(page+PageSize, 64) // the file has grown
	for range LookEvery + 4*readyFrom {
		s.read(page, 64)
	}
	if !s.p.Ready(page, 64) {
		t.Error("the page is not the last one any more, and not ready")
	}
}

// Calls are looked at, and counted, with an empty account, too.
func TestRead_LooksWithoutAccount(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	account.Set(-1 << 40)
	const groups = 10
	before := total(reason.OfProcess())
	for range groups * LookEvery {
		s.read(0, 64)
	}
	s.p.Closed(reason.Unpaid, 0)
	if n := total(reason.OfProcess()) - before; n != groups*LookEvery {
		t.Errorf("%d calls are counted of %d", n, groups*LookEvery)
	}
}

// What a caller has asked the system is known from then on, whatever the account has: View does not ask again.
func TestNote_EmptyAccount(t *testing.T) {
	defer account.Unbound()
	account.Set(-account.Start)
	var p Pages
	for off := int64(0); off < 1<<30; off += BlockSize {
		p.Note(Ready, off, BlockSize)
	}
	for off := int64(0); off < 1<<30; off += BlockSize {
		if !p.Known(off, BlockSize) {
			t.Fatalf("the block at %d is not known", off)
		}
	}
}

// What is written over in a file of which no call has asked the length is mapped. The question is paid, and there is none
// where no call is recorded.
func TestWrite_AsksForTheLength(t *testing.T) {
	if Eager {
		t.Skip("the eager policy asks at each call")
	}
	defer account.Unbound()
	s := newSimulation(1)
	for _, balance := range []int64{-1 << 40, account.Max} { // each group is a sample, or recorded
		s.open(16*BlockSize, false, false, false)
		for i := range int64(16 * LookEvery) {
			account.Set(balance)
			s.p.Write(s.simFile, i*8, 8, i*8, reason.None)
		}
		if n := s.lengths; n < 1 || n > 3 {
			t.Errorf("with %d ns in the account, the length was asked for %d times", balance, n)
		}
	}
	prices.Call.Set(preadPrice)
	for balance, want := range map[int64]int{-1: 0, account.Max / 2: 1} {
		s.open(16*BlockSize, false, false, false)
		account.Set(balance)
		for i := range int64(LookEvery) {
			s.p.Write(s.simFile, i*8, 8, i*8, reason.None)
		}
		earned := LookEvery * prices.OfWrite(0) / incomeShare
		pays := int64(want) * (LookEvery*prices.Record + askCalls*preadPrice)
		if n, got := s.lengths, balance+earned-account.Balance(); n != want || got != pays {
			t.Errorf("with %d ns in the account, the length was asked for %d times, and %d ns paid, want %d and %d", balance, n, got, want, pays)
		}
	}
}

// The questions of a file that only grows do not take all that its writes earn: what other files would gain waits for it.
func TestWrite_AppendsEarn(t *testing.T) {
	if Eager {
		t.Skip("the eager policy asks at each call")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(64, false, false, false)
	account.Set(-1000)
	const writes = 100 * 256
	for i := range int64(writes) {
		s.size = (i + 1) * 64
		s.write(i*64, 64)
	}
	if n := s.lengths; n > writes/256+1 {
		t.Errorf("the length was asked for %d times in %d writes", n, writes)
	}
	if account.Balance() < 10_000 {
		t.Errorf("the account has %d ns after %d writes", account.Balance(), writes)
	}
}

// Pages that a truncation takes away from the mapping are paid, once.
func TestTruncated_IsPaid(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(16*BlockSize, false, false, false)
	s.p.Note(Seen, 0, s.size)
	s.p.Note(Ready, 0, BlockSize)
	account.Set(0)
	for _, c := range []struct{ size, balance int64 }{{BlockSize, 0}, {0, -prices.Unmap.Now()}, {0, -prices.Unmap.Now()}} {
		if s.p.Truncated(c.size); account.Balance() != c.balance {
			t.Errorf("after a truncation to %d bytes the account has %d ns, want %d", c.size, account.Balance(), c.balance)
		}
	}
}

// After a Sync of all, writes look at no word: the file's length need not be that of its last block.
func TestSynced_ClearsFlags(t *testing.T) {
	defer account.Unbound()
	for _, end := range []int64{3*BlockSize + 100, math.MaxInt64} {
		s := newSimulation(1)
		s.open(3*BlockSize+100, true, false, false)
		s.p.Note(Prefaulted, 0, s.size)
		s.p.begin().Flag(blocks.Due, 2)
		s.p.Synced(0, end)
		for block := range int64(4) {
			if got := s.p.flags(block * BlockSize); got&(blocks.ForWrites|blocks.Due) != 0 && !always {
				t.Errorf("after a sync up to %d block %d has the flags %x", end, block, got)
			}
		}
	}
}

// A page that would prove a copy is read only if the account is not far below zero.
func TestRead_UnprovenIsUnpaid(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for balance, want := range map[int64]bool{-account.Start / 8: false, -1: true, account.Max: true} {
		s := newSimulation(1)
		s.open(2*BlockSize, true, false, false)
		s.mapped, s.known = true, s.size
		s.p.Note(Ready, 0, PageSize)
		account.Set(balance)
		prices.Call.Set(preadPrice)
		prices.Fault.Set(largeFault)
		s.p.Read(s.simFile, 0, 64, false, true)
		if got := s.p.Ready(PageSize, 1); got != want {
			t.Errorf("with %d ns in the account, the next page is ready: %v", balance, got)
		}
		pays := prices.InVain(64)
		if want {
			pays += 2*preadPrice + largeFault
		}
		if got := balance - account.Balance(); got != pays {
			t.Errorf("with %d ns in the account, %d are paid, want %d", balance, got, pays)
		}
	}
}

// What Close takes for the blocks of a file was paid with their loads, and is no price of the next mapping.
func TestClosed_LeavesOutBlocks(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	s := newSimulation(1)
	for range 8 {
		s.open(256*BlockSize, false, false, false)
		for off := int64(0); off < s.size; off += BlockSize {
			account.Set(account.Max)
			for range LookEvery {
				s.read(off, 64)
			}
		}
		if s.close(); s.ends < 128*unmapShare*smallFault {
			t.Fatalf("unmapping takes %.0f ns: few blocks were loaded", s.ends)
		}
	}
	if price := prices.Unmap.Now(); float64(price) > s.ends/4 { // of the blocks, most was paid
		t.Errorf("a Close whose blocks took %.0f ns, and all else %d, is believed to take %d", s.ends, revokePrice, price)
	}
	price := prices.Unmap.Now()
	s.open(BlockSize, false, false, false)
	s.p.begin().loaded.Store(1_000) // of blocks that the system has taken away meanwhile
	if s.p.Closed(reason.Unpaid, revokePrice); prices.Unmap.Now() != price {
		t.Errorf("after a Close that took less than its blocks the price is %d, not %d", prices.Unmap.Now(), price)
	}
}

// Reads in order of whole pages come back as others do: no read before has seen the page.
func TestRead_WholePagesInOrder(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at the first call that counts")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(4*PageSize, true, false, false)
	rereads := 0
	for i := range int64(20 * LookEvery) {
		account.Set(account.Max)
		if !s.p.Early(PageSize, false) {
			again := s.p.Known(i%4*PageSize, PageSize)
			credit := s.p.begin().credit.Load()
			s.p.Read(failing{s.simFile, 0}, i%4*PageSize, PageSize, false, false)
			if again && i%4 > 0 && s.p.begin().credit.Load() > credit {
				rereads++
			}
		}
	}
	if rereads == 0 {
		t.Error("none of them counts")
	}
}

// Where a system call takes long, a fault that takes less than half of it is one.
func TestLoads_CheapFault(t *testing.T) {
	defer account.Unbound()
	newSimulation(1)
	prices.Call.Set(2_000)
	var l loads
	l.add(0, 720)
	if l.faults != 1 {
		t.Error("a load of 720 ns is no fault, where a system call takes 2 µs")
	}
	l = loads{}
	if l.add(0, 100); l.faults != 0 {
		t.Error("a load of 100 ns is a fault")
	}
}
