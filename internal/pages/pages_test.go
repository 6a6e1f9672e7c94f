package pages

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestPages_Model(t *testing.T) {
	t.Parallel()
	const all = 10 << 20 / (1 << PageBits) // pages, of three leaves
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
			off = r.Int64N(all<<PageBits - 1)
			n = 1 + r.Int64N(min(all<<PageBits-off, 1<<(4+r.IntN(22))))
			return off, n, int(off >> PageBits), int((off + n - 1) >> PageBits)
		}
		for op := range 300 {
			off, n, first, last := span()
			switch r.IntN(5) {
			case 0:
				back := true
				for page := first; page <= last; page++ {
					back = back && known["seen"][page]
				}
				if got := p.Note(Seen, off, n); got != back {
					t.Fatalf("seed %d, operation %d: seen before %v, want %v", seed, op, got, back)
				}
			case 1:
				p.Note(Ready, off, n)
			case 2:
				p.NotePrefaulted(off, n)
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
				if n < 1<<leafBits {
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
					known["ready"][page] = known["ready"][page] || p.has(readyShift, int64(page)<<PageBits, 1)
				}
				known["prefaulted"][page] = known["prefaulted"][page] || p.has(prefaultedShift, int64(page)<<PageBits, 1)
			}
			for kind, m := range masks {
				off, n, first, last := span()
				want := true
				for page := first; page <= last && want; page++ {
					want = p.word(uint64(page/16)) != nil && p.word(uint64(page/16)).Load()>>m.shift>>(page%16)&1 == 1
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

// A read at a large offset takes as much memory as one at the start.
func TestPages_LargeOffsets(t *testing.T) {
	t.Parallel()
	offs := []int64{0, 1 << 30, 1<<40 - 100, 1<<40 + 5<<22, 1<<47 + 9<<22, 1<<53 + 13<<22, 1 << 61}
	var p Pages
	for i, off := range offs {
		if p.Note(Seen, off, 64); !p.Seen(off, 1) {
			t.Errorf("a page at %d is not recorded", off)
		}
		for _, other := range offs[i+1:] {
			if p.Seen(other, 1) {
				t.Errorf("a page at %d is recorded, and found at %d", off, other)
			}
		}
	}
	if got := len(p.table.Load().leaves); got > placesMin {
		t.Errorf("%d places for %d leaves", got, len(offs))
	}
}

// A pass over a huge file takes little memory, whatever the distance of the reads.
func TestPages_LeavesOfAHugeFile(t *testing.T) {
	t.Parallel()
	const calls = 10_000
	for _, distance := range []int64{1 << leafBits, 1 << 30, 3 << 27} {
		var p Pages
		for i := range int64(calls) {
			p.Read(i*distance, 1, false)
		}
		table := p.table.Load()
		if got := table.grown; got > calls/4+128 || got < calls/8 {
			t.Errorf("%d leaves after %d reads %d apart", got, calls, distance)
		}
		if got := len(table.leaves); got > 16*calls/4 {
			t.Errorf("%d places after %d reads %d apart", got, calls, distance)
		}
	}
	var p Pages
	const leaves = 1024
	for i := range int64(leaves) { // recorded, and found again
		p.Note(Seen, i<<30, 1)
		p.begin().calls.Add(8)
	}
	found := 0
	for i := range int64(leaves) {
		if p.Seen(i<<30, 1) {
			found++
		}
	}
	if found < leaves*9/10 {
		t.Errorf("%d of %d pages are found again", found, leaves)
	}
}

// An eviction makes all pages unknown, and the table is used again.
func TestPages_Evict(t *testing.T) { // of all files, so not beside other tests
	var p Pages
	for range 20 {
		for off := int64(0); off < 64<<leafBits; off += 1 << leafBits {
			if p.Note(Ready, off, 64); !p.Ready(off, 64) {
				t.Fatal("not recorded")
			}
		}
		if Evict(); p.Seen(0, 1) || p.Ready(5<<leafBits, 1) {
			t.Fatal("known after an eviction")
		}
	}
	if got := len(p.table.Load().leaves); got > placesMin {
		t.Errorf("%d places for 64 leaves", got)
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
				p.NotePrefaulted(0, BlockSize)
			}
		}()
		go func() {
			defer both.Done()
			for range 50 {
				p.Synced(0, 1<<leafBits)
			}
		}()
		both.Wait()
		p.NotePrefaulted(0, BlockSize)
		p.Synced(0, 1<<leafBits)
		if p.has(prefaultedShift, 0, 1) {
			t.Fatal("prefaulted after a Sync")
		}
	}
}

// A Sync of a range across two leaves resets its blocks, and no others.
func TestPages_SyncedRange(t *testing.T) {
	t.Parallel()
	const leaf = 1 << leafBits
	var p Pages
	p.NotePrefaulted(0, 2*leaf)
	const off, end = leaf / 2, leaf + BlockSize + 1
	p.Synced(off, end)
	for at := int64(0); at < 2*leaf; at += BlockSize {
		if got, want := p.has(prefaultedShift, at, BlockSize), at < off || at >= end; got != want {
			t.Errorf("block at %d is prefaulted: %v", at, got)
		}
	}
}

// Reads past the offsets that the state has room for are in order, too.
func TestPages_OrderAtLargeOffsets(t *testing.T) {
	t.Parallel()
	for _, off := range []int64{0, 1 << 50} {
		var p Pages
		ask := false
		for range trackFrom + orderFrom + 2 {
			ask = ask || p.Read(off, 4096, false).Ask
			off += 4096
		}
		if !ask {
			t.Errorf("reads up to %d are not in order", off)
		}
	}
}

// The front never tells more than the words do.
func TestReady_Front(t *testing.T) {
	if Eager {
		t.Skip("the eager policy counts all mapped calls")
	}
	const size = 24 << 20
	moved := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var p Pages
		p.Mapped(true, 0)
		for op := range 20_000 {
			off := r.Int64N(size)
			n := 1 + r.Int64N(min(size-off, 1<<(4+r.IntN(14))))
			switch k := r.IntN(1000); {
			case k < 1:
				p.Truncated(off)
			case k < 2 && seed%2 == 0:
				Evict()
			case k < 4:
				p.Note(Ready, 0, off+n)
				p.BuyAhead(off, off+n)
			case k < 30:
				p.Read(off, n, false)
				p.Buy(off, n)
			case k < 32:
				p.grow(uint64(size>>BlockBits) << r.IntN(8)) // another leaf, perhaps in a place that is taken
			}
			want := p.has(readyShift, off, int(n))
			if p.Ready(off, int(n)) != want {
				t.Fatalf("seed %d, operation %d: %d bytes at %d are ready: %v", seed, op, n, off, !want)
			}
			if p.begin().front.Load()&offsetMask >= 2*BlockSize {
				moved++
			}
		}
	}
	if moved < 10_000 {
		t.Errorf("the front told something in %d calls only", moved)
	}
}

// readUntilRecorded makes calls until the next ones are recorded.
func readUntilRecorded(p *Pages) {
	for range LookEvery {
		p.Read(0, 64, false)
	}
}

// Where most reads end in zeros of the last page, they are not tried from the mapping for ever.
func TestUnproven_LastPage(t *testing.T) {
	t.Parallel()
	const page = 5 * PageSize
	var p Pages
	p.Note(Ready, 0, page+100)
	p.Mapped(true, 0)
	readUntilRecorded(&p)
	for i := range 40 {
		if !p.Ready(page, 64) {
			if i < 31 {
				t.Errorf("not ready after %d reads", i)
			}
			break
		}
		p.Unproven(page, 64, true)
	}
	if p.Ready(page, 64) || !p.Ready(0, page) {
		t.Error("the last page is still ready, or the others are not")
	}
	for range 2 * readyFrom {
		p.Read(page, 64, false)
		p.Buy(page, 64)
	}
	if p.Ready(page, 64) {
		t.Error("the page is ready again")
	}
	p.Read(page, 2*PageSize, false) // the file has grown
	for range 2 * readyFrom {
		p.Read(page, 64, false)
		p.Buy(page, 64)
	}
	if !p.Ready(page, 64) {
		t.Error("the page is not the last one any more, and not ready")
	}
}

// Calls of a file for whose record the budget does not suffice are looked at, too: Stats counts them.
func TestRead_LooksWithoutRecord(t *testing.T) {
	defer Unbound()
	budget.Store(-1 << 40)
	var p Pages
	const groups = 10
	looks := 0
	for range groups * LookEvery {
		if !p.Early(64) && p.Read(0, 64, false).Look {
			looks++
		}
	}
	if looks != groups {
		t.Errorf("%d looks after %d groups of calls", looks, groups)
	}
}
