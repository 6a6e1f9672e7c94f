package file

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// mappedFile opens and maps a new file of size bytes.
func mappedFile(t *testing.T, size int64) (*File, *mapping) {
	t.Helper()
	if !canMap || closeNeedsLock {
		t.Skip("nothing is mapped unasked")
	}
	f, err := OpenFile(filepath.Join(TempDir(t), "file"), os.O_RDWR|os.O_CREATE, 0o600, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if f.Bytes() == nil {
		t.Skip("the file cannot be mapped here")
	}
	HoldPages(t)
	prefaultAll(f)
	return f, f.m.Load()
}

// readyFile opens and maps a sparse file of size bytes.
func readyFile(t *testing.T, size int64) *File {
	t.Helper()
	f, _ := mappedFile(t, 1)
	if err := f.Truncate(size); err != nil { // of holes
		t.Fatal(err)
	}
	if int64(len(f.Bytes())) != size || !f.m.Load().writes {
		t.Skip("no write is mapped here")
	}
	if storage := sys.StorageOf(f.inner, true); storage.Kind() == sys.StorageMemory {
		t.Skip("a file with holes is not mapped for calls here")
	}
	if _, err := f.WriteAt([]byte{1}, 0); err != nil { // by a system call, as the first is
		t.Fatal(err)
	}
	return f
}

// A mapped write loads from the page after it, which must not make it wait for the disk.
func TestWriteAt_PageAfterUnknown(t *testing.T) {
	f := lazyFile(t, 4*pages.BlockSize)
	if f.Bytes() == nil || !f.m.Load().writes {
		t.Skip("no write is mapped here")
	}
	lock, _ := f.writes.Locks().Of(0, 1)
	for _, end := range []int64{int64(pageSize), 2 * pages.BlockSize} { // in the block of the page after, and before it
		b := make([]byte, 100)
		off := end - int64(len(b))
		f.pages.Note(pages.Prefaulted, end-int64(pageSize), int64(pageSize))
		f.needCold().mtime.Start()
		prefaulted, known, due := f.pages.PrefaultedBefore(end, off, len(b))
		if n, err := f.tryWrite(lock, b, off, prefaulted, known, due); n > 0 || err != nil {
			t.Errorf("a write up to %d is mapped, and the page after it is not known", end)
		}
		f.pages.Note(pages.Ready, end, 1)
		f.needCold().mtime.Start()
		prefaulted, known, due = f.pages.PrefaultedBefore(end, off, len(b))
		if n, err := f.tryWrite(lock, b, off, prefaulted, known, due); n < len(b) || err != nil {
			t.Errorf("a write up to %d is not mapped", end)
		}
	}
}

// mapsWrites reports whether do makes a mapped write to f.
func mapsWrites(f *File, do func()) bool {
	for f.needCold().mtime.State().Timed { // it would end it
		runtime.Gosched()
	}
	f.needCold().mtime.Start()
	do()
	return f.needCold().mtime.State().Mapped
}

// writeOften writes the same bytes again and again, to the first page.
func writeOften(t *testing.T, f *File, times int) {
	t.Helper()
	for range times {
		if _, err := f.WriteAt([]byte("often"), 10); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that has grown can become eight times as long before it is mapped again, which would fault anew.
func TestMapping_RoomToGrow(t *testing.T) {
	t.Parallel()
	const size = 100_000
	f := readyFile(t, size) // mapped with one byte before
	if !mapsBeyondEnd || !vm.RoomFor(8*size, false) {
		t.Skip("a mapping is as long as the file")
	}
	m := f.m.Load()
	if err := f.Truncate(8 * size); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Bytes()); n != 8*size || &f.m.Load().data[0] != &m.data[0] {
		t.Errorf("%d bytes are mapped, and anew: the mapping had %d", n, len(m.data))
	}
}

func TestWriteAt_MappedBesideTruncation(t *testing.T) {
	t.Parallel()
	const size = 300_000
	mapped := 0
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := readyFile(t, size)
		other, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		shadow, err := os.Create(filepath.Join(t.TempDir(), "shadow"))
		if err != nil {
			t.Fatal(err)
		}
		defer shadow.Close()
		if err := shadow.Truncate(size); err != nil {
			t.Fatal(err)
		}
		shadow.WriteAt([]byte{1}, 0)
		both := func(do func(f writeTruncater, shadow bool) (int, error), theirs writeTruncater) {
			t.Helper()
			n, err := do(theirs, false)
			if m, merr := do(shadow, true); n != m || (err == nil) != (merr == nil) {
				t.Fatalf("seed %d: %d, %v; os.File has %d, %v", seed, n, err, m, merr)
			}
		}
		for op := range 300 {
			prefaultAll(f)
			off, b := r.Int64N(size), make([]byte, 1+r.IntN(9000))
			if r.IntN(3) > 0 { // otherwise zeros, which prove nothing
				for i := range b {
					b[i] = byte(r.Uint32())
				}
			}
			write := func(f writeTruncater, _ bool) (int, error) { return f.WriteAt(b, off) }
			cut := func(f writeTruncater, _ bool) (int, error) { return 0, f.Truncate(off) }
			switch r.IntN(12) {
			case 0:
				if r.IntN(2) == 0 {
					off &^= int64(pageSize - 1)
				}
				both(cut, other)
			case 1:
				both(cut, f)
			case 2:
				f.Stat()
			case 3:
				f.Sync()
			case 4:
				both(write, other)
			default:
				if mapsWrites(f, func() { both(write, f) }) {
					mapped++
				}
			}
			if op%10 == 0 || op == 299 {
				got, err := os.ReadFile(f.Name())
				if err != nil {
					t.Fatal(err)
				}
				want, err := os.ReadFile(shadow.Name())
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("seed %d, operation %d: not the content of os.File, of %d and %d bytes", seed, op, len(got), len(want))
				}
			}
		}
	}
	if mapped < 300 {
		t.Errorf("%d mapped writes only: this tests something else", mapped)
	}
}

type writeTruncater interface {
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
}

// Each 64 KiB have a lock. The writes overlap within the range of one lock, or past its end.
func TestWriteAt_MappedOverlapping(t *testing.T) {
	t.Parallel()
	const lock = pages.BlockSize
	f := readyFile(t, 4<<20)
	src, m := mappedFile(t, 2*lock)
	if _, err := src.WriteAt(bytes.Repeat([]byte{1}, 2*lock), 0); err != nil {
		t.Fatal(err)
	}
	vm.Memory.Advise(m.data, sys.Random) // each page faults
	for _, c := range []struct{ one, other, n int64 }{
		{3*lock + 100, 3*lock + 100, 20_000}, // the same
		{5*lock - 100, 5 * lock, lock},
		{5*lock - 3000, 5*lock - 5000, 8000},
		{7*lock - 3000, 8 * lock, lock + 4000},
		{2*lock - 1, 2 * lock, 2},
		{9 * lock, 9*lock + 10, lock},
	} {
		from, to := max(c.one, c.other), min(c.one, c.other)+c.n
		for round := range 40 {
			prefaultAll(f)
			var writers sync.WaitGroup
			var wrote [2]atomic.Int32
			for i, off := range []int64{c.one, c.other} {
				writers.Add(1)
				go func() {
					defer writers.Done()
					b := bytes.Repeat([]byte{byte(i + 1)}, int(c.n))
					for wrote[0].Load() < 8 || wrote[1].Load() < 8 { // so that the last ones meet
						if i == 0 {
							b = m.data[:c.n]
							vm.Memory.Advise(m.data, sys.DontNeed) // so that one overtakes the other
						}
						if n, err := f.WriteAt(b, off); n != len(b) || err != nil {
							t.Errorf("WriteAt: %d, %v", n, err)
						}
						wrote[i].Add(1)
					}
				}()
			}
			writers.Wait()
			b := make([]byte, to-from)
			if _, err := f.ReadAt(b, from); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(b, b[:1]) != len(b) {
				t.Fatalf("round %d: %d bytes at %d and at %d are mixed", round, c.n, c.one, c.other)
			}
		}
	}
}

func TestWriteAt_MappedMovesTheTime(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	clock := filepath.Join(t.TempDir(), "clock")
	timeOf := func(name string) time.Time {
		t.Helper()
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime()
	}
	if _, err := f.Stat(); err != nil { // so that the next write is by a system call
		t.Fatal(err)
	}
	if !guard.Writable(f.m.Load().data[:pages.BlockSize]) { // the first write to a page moves the time by itself
		t.Fatal("a fault")
	}
	prefaultAll(f)
	if _, err := f.WriteAt([]byte{1}, 0); err != nil {
		t.Fatal(err)
	}
	before := timeOf(f.Name())
	for now := before; !now.After(before); now = timeOf(clock) { // it ticks some hundred times a second
		if err := os.WriteFile(clock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prefaultAll(f)
	if !mapsWrites(f, func() {
		if _, err := f.WriteAt([]byte{2}, 4096); err != nil {
			t.Fatal(err)
		}
	}) {
		t.Fatal("no mapped write, so this tests nothing")
	}
	if _, err := f.Stat(); err != nil {
		t.Fatal(err)
	}
	if after := timeOf(f.Name()); !after.After(before) {
		t.Errorf("the time is %v after a mapped write, and was %v before", after, before)
	}
}

// A caller may write the file's own Bytes to it.
func TestWriteAt_MappedOwnBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, n int }{{100_000, 50_000}, {3 << 20, 3 << 19}, {12 << 20, 9 << 20}} {
		f, m := mappedFile(t, int64(c.size))
		if !m.writes {
			t.Skip("no write is mapped here")
		}
		want := make([]byte, c.size)
		rand.NewChaCha8([32]byte{}).Read(want)
		for range 2 { // the second one is a mapped write
			prefaultAll(f)
			if _, err := f.WriteAt(want, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, move := range []struct{ from, to int }{{1000, 31_000}, {31_000, 1000}, {0, 1}} {
			prefaultAll(f)
			if !mapsWrites(f, func() {
				if n, err := f.WriteAt(f.Bytes()[move.from:move.from+c.n], int64(move.to)); n != c.n || err != nil {
					t.Fatal(n, err)
				}
			}) {
				t.Error("no mapped write, so this tests nothing")
			}
			copy(want[move.to:], want[move.from:move.from+c.n])
			if !bytes.Equal(f.Bytes(), want) {
				t.Errorf("%d bytes moved from %d to %d are wrong", c.n, move.from, move.to)
			}
		}
	}
}

// A program that calls Stat after each write begins few periods.
func TestWriteAt_PeriodsInVain(t *testing.T) {
	t.Parallel()
	if pages.Eager {
		t.Skip("the eager policy begins all")
	}
	f := lazyFile(t, 4*pages.BlockSize)
	for i := 0; !f.needCold().mtime.State().Mapped; i++ {
		if i == 20_000 {
			t.Skip("no write is mapped here")
		}
		if _, err := f.WriteAt([]byte("a record"), 100); err != nil {
			t.Fatal(err)
		}
	}
	begun := 0
	for range 1_000 {
		f.endPeriod()
		if _, err := f.WriteAt([]byte("a record"), 100); err != nil {
			t.Fatal(err)
		}
		if f.needCold().mtime.Active() {
			begun++
		}
	}
	if begun == 0 || begun > 100 {
		t.Errorf("%d periods begin with 1,000 writes", begun)
	}
}

// Pages are prefaulted when mapped writes would have saved the cost of it.
func TestWriteAt_PrefaultedOnceItPays(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*pages.BlockSize)
	write := func(off int64) {
		t.Helper()
		if n, err := f.WriteAt([]byte("a record"), off); n != 8 || err != nil {
			t.Fatal(n, err)
		}
	}
	for i := range int64(manyReads) {
		write(i % 7)
	}
	if f.m.Load() == nil {
		t.Fatal("not mapped, and the writes came back")
	}
	const off = 2*pages.BlockSize + 100
	n := 0
	for ; !isPrefaulted(f, off, 8); n++ {
		if n > 4096 {
			t.Fatal("never prefaulted")
		}
		write(off)
	}
	for i := 0; !f.needCold().mtime.State().Mapped; i++ {
		if i == 100 {
			t.Fatal("the pages are prefaulted, and writes are not mapped")
		}
		write(off) // the first of a period is by system call
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if isPrefaulted(f, off, 8) {
		t.Error("prefaulted just after a Sync")
	}
}
