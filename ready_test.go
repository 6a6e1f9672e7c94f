package mmapfile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// readyFile is a File of size bytes, of which nothing is written, that is mapped.
func readyFile(t *testing.T, size int64) *File {
	t.Helper()
	f, _ := mappedFile(t, 1)
	if err := f.Truncate(size); err != nil { // of holes
		t.Fatal(err)
	}
	if int64(len(f.Bytes())) != size || f.m.Load().store == nil {
		t.Skip("nothing is stored here")
	}
	if kind := storageOf(f.inner); kind == storageMemory || kind == storageHoles {
		t.Skip("a file with holes is not mapped for calls here")
	}
	if _, err := f.WriteAt([]byte{1}, 0); err != nil { // by a system call, as the first is
		t.Fatal(err)
	}
	return f
}

// makeAllReady has the writes of f that come next be stores, where they can be.
func makeAllReady(f *File) {
	if m := f.m.Load(); m != nil && m.store != nil {
		m.store.rests.Store(false)
		m.store.setReady(0, len(m.store.count)-1, m.store.epoch.Load()<<countBits)
	}
}

// stores is how many of them f has made.
func stores(f *File) (n uint32) {
	m := f.m.Load()
	for i := range m.turns {
		m.turns[i].Lock()
		n += m.turns[i].stores
		m.turns[i].Unlock()
	}
	return n
}

func TestReadyWritesAreThoseOfOSFileWhileOthersCutAndWrite(t *testing.T) {
	t.Parallel()
	const size = 300_000
	stored := uint32(0)
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
			makeAllReady(f)
			off, b := r.Int64N(size), make([]byte, 1+r.IntN(9000))
			if r.IntN(3) > 0 { // else zeros, which prove nothing
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
				before := stores(f)
				both(write, f)
				stored += stores(f) - before
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
	if stored < 300 {
		t.Errorf("%d stores only: this tests something else", stored)
	}
}

type writeTruncater interface {
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
}

// Locks are for 64 KiB each, and regions for more in a large file: the writes overlap
// behind the border of a lock, in one region or two.
func TestReadyWritesThatOverlapDoNotMix(t *testing.T) {
	t.Parallel()
	const lock = 1 << regionShift
	for _, size := range []int64{4 << 20, 3 << 30} {
		if size > maxInt {
			continue
		}
		f := readyFile(t, size)
		src, m := mappedFile(t, 2*lock)
		if _, err := src.WriteAt(bytes.Repeat([]byte{1}, 2*lock), 0); err != nil {
			t.Fatal(err)
		}
		adviseMemory(m.data, Random) // each page faults
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
				makeAllReady(f)
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
								adviseMemory(m.data, DontNeed) // so that one overtakes the other
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
					t.Fatalf("%d bytes, round %d: %d bytes at %d and at %d are mixed", size, round, c.n, c.one, c.other)
				}
			}
		}
	}
}

// Where regions are larger than what a lock is for, a write inside one may need two.
func TestReadyWriteOfTwoLocksIsNotMadeWithOne(t *testing.T) {
	t.Parallel()
	if maxInt < 4<<30 {
		t.Skip("no file of 3 GiB is mapped here")
	}
	const lock = 1 << regionShift
	f := readyFile(t, 3<<30)
	m := f.m.Load()
	if m.store.shift == regionShift {
		t.Fatal("regions are no larger: this tests something else")
	}
	makeAllReady(f)
	if _, err := f.WriteAt([]byte{1}, 5*lock); err != nil { // the first is by a system call
		t.Fatal(err)
	}
	for off, want := range map[int64]bool{5*lock - 101: true, 5*lock - 100: true, 5*lock - 99: false, 5*lock - 1: false, 5 * lock: true} {
		if got := f.storeReady(m, make([]byte, 100), off); got != want {
			t.Errorf("at %d, for locks of %d: %v", off, lock, got)
		}
	}
}

func TestStoresMoveTheTime(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(f *File, m *mapping) bool{
		"ready": func(f *File, m *mapping) bool { return f.storeReady(m, []byte{2}, 4096) },
		"other": func(f *File, m *mapping) bool {
			turn := m.turns.take(4096, 1)
			defer m.turns.give(turn)
			return f.stored(m, []byte{2}, 4096, turn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStoreMovesTheTime(t, store)
		})
	}
}

func testStoreMovesTheTime(t *testing.T, store func(f *File, m *mapping) bool) {
	t.Helper()
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
	if !storable(f.m.Load().data[:1<<regionShift]) { // the first store to a page moves the time by itself
		t.Fatal("a fault")
	}
	makeAllReady(f)
	if _, err := f.WriteAt([]byte{1}, 0); err != nil {
		t.Fatal(err)
	}
	before := timeOf(f.Name())
	for now := before; !now.After(before); now = timeOf(clock) { // it ticks some hundred times a second
		if err := os.WriteFile(clock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !store(f, f.m.Load()) {
		t.Fatal("no store: this tests something else")
	}
	if _, err := f.Stat(); err != nil {
		t.Fatal(err)
	}
	if after := timeOf(f.Name()); !after.After(before) {
		t.Errorf("%v after a store, and %v before", after, before)
	}
}

// A caller may write the file's own Bytes to it.
func TestReadyWriteOfOwnBytesMovesThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, n int }{{100_000, 50_000}, {3 << 20, 3 << 19}, {12 << 20, 9 << 20}} {
		f, m := mappedFile(t, int64(c.size))
		if m.store == nil {
			t.Skip("nothing is stored here")
		}
		want := make([]byte, c.size)
		rand.NewChaCha8([32]byte{}).Read(want)
		for range 2 { // from the second on these are stores
			makeAllReady(f)
			if _, err := f.WriteAt(want, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, move := range []struct{ from, to int }{{1000, 31_000}, {31_000, 1000}, {0, 1}} {
			makeAllReady(f)
			before := stores(f)
			if n, err := f.WriteAt(f.Bytes()[move.from:move.from+c.n], int64(move.to)); n != c.n || err != nil {
				t.Fatal(n, err)
			}
			if stores(f) == before {
				t.Error("no store: this tests something else")
			}
			copy(want[move.to:], want[move.from:move.from+c.n])
			if !bytes.Equal(f.Bytes(), want) {
				t.Errorf("%d bytes moved from %d to %d are others", c.n, move.from, move.to)
			}
		}
	}
}
