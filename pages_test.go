package mmapfile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

const blockSize = 1 << blockBits

// lazyFile opens a new file of size bytes for reading and writing. None of its pages is known.
func lazyFile(t *testing.T, size int) *File {
	t.Helper()
	if !canMap || locked || split {
		t.Skip("nothing is mapped unasked")
	}
	name := filepath.Join(TempDir(t), "file")
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(content)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	lazyFiles.Store(f.file, true)
	t.Cleanup(func() {
		f.Close()
		lazyFiles.Delete(f.file)
	})
	if sys.StorageOf(f.inner) != sys.StorageLocal {
		t.Skip("this file system is not mapped unasked")
	}
	return f
}

// readAt reads n bytes at off.
func readAt(t *testing.T, f *File, off int64, n int) {
	t.Helper()
	if got, err := f.ReadAt(make([]byte, n), off); got != n || err != nil {
		t.Fatalf("ReadAt: %d, %v", got, err)
	}
}

func TestPages_Model(t *testing.T) {
	t.Parallel()
	const all = 10 << 20 / (1 << pageBits) // pages, of three leaves
	masks := map[string]struct {
		bits  uint64
		shift uint
	}{"seen": {noteSeen, 0}, "ready": {noteReady, readyShift}, "prefaulted": {notePrefault, prefaultedShift}}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var p pages
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
				back := true
				for page := first; page <= last; page++ {
					back = back && known["seen"][page]
				}
				if got := p.note(noteSeen, off, n); got != back {
					t.Fatalf("seed %d, operation %d: seen before %v, want %v", seed, op, got, back)
				}
			case 1:
				p.note(noteReady, off, n)
			case 2:
				p.notePrefaulted(off, n)
			case 3:
				if r.IntN(8) == 0 {
					p.truncated(off)
					for page := first / 16 * 16; page < all; page++ {
						for _, pages := range known {
							delete(pages, page)
						}
					}
				}
				continue
			case 4:
				if n < 1<<leafBits {
					p.synced(off, off+n)
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
					want = p.word(int64(page/16)) != nil && p.word(int64(page/16)).Load()>>m.shift>>(page%16)&1 == 1
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

func TestPages_OffsetPastTheTable(t *testing.T) {
	t.Parallel()
	var p pages
	p.note(noteSeen, 0, 1)
	for _, off := range []int64{tableMost, 1 << 47, 1<<53 + 5, 1 << 54, 1<<62 + 5} {
		p.calls.Add(1 << 20)
		if p.note(noteSeen, off, 64); p.seen(off, 1) {
			t.Errorf("%d is past the table, and noted", off)
		}
	}
	if p.seen(1<<pageBits, 1) {
		t.Error("an offset past the table is noted at another")
	}
}

// The first pass over a huge file takes little memory.
func TestPages_LeavesOfAHugeFile(t *testing.T) {
	t.Parallel()
	var p pages
	const calls = 10_000
	for i := range int64(calls) {
		p.calls.Add(1)
		p.note(noteSeen, i<<leafBits, 1)
	}
	if got := p.table.Load().grown; got > calls/4+128 || mapLimit > tableMost && got < calls/8 {
		t.Errorf("%d leaves after %d reads far apart", got, calls)
	}
}

// A Sync beside writes leaves no page prefaulted that a later Sync does not reset.
func TestPages_SyncBesidePrefault(t *testing.T) {
	t.Parallel()
	for range 200 {
		var p pages
		p.note(noteSeen, 0, blockSize)
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			for range 50 {
				p.notePrefaulted(0, blockSize)
			}
		}()
		go func() {
			defer both.Done()
			for range 50 {
				p.synced(0, 1<<leafBits)
			}
		}()
		both.Wait()
		p.notePrefaulted(0, blockSize)
		p.synced(0, 1<<leafBits)
		if p.has(prefaultedShift, 0, 1) {
			t.Fatal("prefaulted after a Sync")
		}
	}
}

// A Sync of a range across two leaves resets its blocks, and no others.
func TestPages_SyncedRange(t *testing.T) {
	t.Parallel()
	const leaf = 1 << leafBits
	var p pages
	p.notePrefaulted(0, 2*leaf)
	const off, end = leaf / 2, leaf + blockSize + 1
	p.synced(off, end)
	for at := int64(0); at < 2*leaf; at += blockSize {
		if got, want := p.has(prefaultedShift, at, blockSize), at < off || at >= end; got != want {
			t.Errorf("block at %d is prefaulted: %v", at, got)
		}
	}
}

func TestReadAt_MappedOnceReadsComeBack(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	f := lazyFile(t, size)
	pass := func(step int64) {
		for off := int64(0); off < size; off += step {
			readAt(t, f, size-step-off, 100) // backwards, so that the order predicts nothing
		}
	}
	calls := 0
	for ; calls < trackFrom+mapFrom; calls += size / (2 * blockSize) {
		if f.m.Load() != nil {
			t.Fatalf("mapped after %d reads", calls)
		}
		pass(2 * blockSize)
	}
	for range 2 { // a first pass that is noted, and what is left of the last
		pass(2 * blockSize)
	}
	if f.m.Load() == nil {
		t.Fatal("not mapped, and 48 reads have come back")
	}
	readAt(t, f, size/2, 100)
	readAt(t, f, size/2, 100)
	if !f.pages.ready(size/2, 100) {
		t.Error("a block is not ready after three reads that came back")
	}
	if f.pages.ready(size/2+1<<pageBits, 1) || f.pages.ready(blockSize, 1) {
		t.Error("a page is ready that was never read")
	}
}

func TestReadAt_OnePassMapsNothing(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	for _, n := range []int64{512, 100_000, 1 << 20} {
		f := lazyFile(t, size)
		f.pages.blind.Store(true) // the system cannot report what is in memory
		for off := int64(0); off+n <= size; off += 2 * n {
			readAt(t, f, off, int(n))
		}
		// Small reads may come back to a page, larger ones do not.
		if m := f.m.Load(); m != nil && n >= 1<<pageBits {
			t.Errorf("mapped by one pass in reads of %d bytes", n)
		}
	}
}

func TestRead_InOrder(t *testing.T) {
	t.Parallel()
	const size, n = 2 << 20, 4 << 10
	f := lazyFile(t, size)
	b := make([]byte, n)
	for i := range int64(orderFrom + trackFrom) {
		if got, err := f.Read(b); got != n || err != nil {
			t.Fatal(got, err)
		}
		if f.m.Load() == nil {
			continue
		}
		if next := (i + 1) * n; !f.pages.ready(next, aheadBytes-blockSize) {
			t.Errorf("mapped after %d reads in order, and what follows is not ready", i+1)
		}
		return
	}
	if f.pages.blind.Load() {
		t.Skip("the system does not say what is in memory")
	}
	t.Error("reads in order of a file in memory have not mapped it")
}

func TestTruncate_Pages(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*blockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	prefaultAll(f.file, 0)
	if err := f.Truncate(blockSize + 10); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4 * blockSize); err != nil {
		t.Fatal(err)
	}
	if !f.pages.ready(0, blockSize) {
		t.Error("pages before the end are forgotten")
	}
	if f.pages.seen(2*blockSize, 1) || f.pages.ready(2*blockSize, 1) {
		t.Error("pages of a hole are known")
	}
}

func TestSync_NoPageStaysPrefaulted(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*blockSize)
	f.Bytes()
	has := func(block int64) bool { return f.pages.has(prefaultedShift, block*blockSize, blockSize) }
	prefaultAll(f.file, 0)
	if err := f.SyncRange(blockSize+1, 5); err != nil {
		t.Fatal(err)
	}
	if sys.SyncsRanges && (!has(0) || has(1) || !has(2)) {
		t.Errorf("prefaulted after SyncRange in block 1: %v %v %v", has(0), has(1), has(2))
	}
	prefaultAll(f.file, 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if has(0) || has(3) {
		t.Error("prefaulted after Sync")
	}
	if !f.pages.ready(0, 4*blockSize) {
		t.Error("not ready after Sync")
	}
}

func TestEvictions_AllFiles(t *testing.T) {
	f := lazyFile(t, blockSize)
	f.Bytes()
	prefaultAll(f.file, 0)
	if !f.pages.ready(0, blockSize) {
		t.Fatal("not ready")
	}
	gen := evictions.gen.Load()
	evictions.faults.Add(-1) // as if there was a major fault since
	evictNow(t)
	if checkEvictions(); evictions.gen.Load() == gen {
		t.Fatal("a major fault is not noticed")
	}
	if f.pages.ready(0, 1) || f.pages.seen(0, 1) {
		t.Error("pages are known after an eviction")
	}
	for range 2 * trackFrom {
		readAt(t, f, 0, 100)
	}
	if !f.pages.ready(0, 100) {
		t.Error("reads that come back after an eviction make nothing ready")
	}
}

// The timer of a synctest bubble does not stop the timers of other tests.
func TestEvictions_Synctest(t *testing.T) {
	name := filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			f, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for range 100 {
				readAt(t, f, 0, 100)
			}
			time.Sleep(3 * evictTick)
			readAt(t, f, 0, 100)
		})
	}
}

func TestReadStats_Mapped(t *testing.T) {
	var before, open, after Stats
	ReadStats(&before)
	f := lazyFile(t, 4*blockSize)
	for range 2 * checkEvery {
		readAt(t, f, 0, 100)
	}
	ReadStats(&open)
	if open.MappedFiles <= 0 || open.MappedBytes < 4*blockSize {
		t.Errorf("with a mapped File: %+v", open)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ReadStats(&after)
	if after.SystemCalls < before.SystemCalls+mapFrom {
		t.Errorf("%d system calls, %d before", after.SystemCalls, before.SystemCalls)
	}
	if after.MappedFiles != open.MappedFiles-1 && !testing.Short() {
		t.Logf("mapped Files: %d, and %d after Close; other tests run", open.MappedFiles, after.MappedFiles)
	}
}
