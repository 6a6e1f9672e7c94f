package ostest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

func TestWriteAt_DisjointRanges(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const workers, strip = 8, 8192 + 13 // strips share pages and cache lines
	for _, start := range []string{"Lazy", "Mapped", "Empty"} {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			content := make([]byte, workers*strip)
			if start == "Empty" {
				content = nil
			}
			name := filetest.Temp(t, content)
			f := filetest.Open(t, name)
			if start == "Mapped" {
				filetest.Map(t, f)
			}
			mine := make([][]byte, workers)
			filetest.Together(t, workers, func(i int) error {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				mine[i] = make([]byte, strip)
				base := int64(i * strip)
				if _, err := f.WriteAt(mine[i], base); err != nil {
					return err
				}
				got := make([]byte, strip)
				for range filetest.Iterations(3000) {
					off := r.IntN(strip)
					b := mine[i][off : off+1+r.IntN(min(strip-off, 500))]
					for j := range b {
						b[j] = byte(r.Uint32())
					}
					if n, err := f.WriteAt(b, base+int64(off)); n != len(b) || err != nil {
						return fmt.Errorf("WriteAt: %d, %w", n, err)
					}
					g := got[:len(b)]
					if n, err := f.ReadAt(g, base+int64(off)); n != len(b) || err != nil || !bytes.Equal(g, b) {
						return fmt.Errorf("ReadAt: %d of %d, %w, or other bytes", n, len(b), err)
					}
				}
				if n, err := f.ReadAt(got, base); n != strip || err != nil || !bytes.Equal(got, mine[i]) {
					return fmt.Errorf("the whole strip: %d, %w, or other bytes", n, err)
				}
				return nil
			})
			filetest.SameBytes(t, "the file", filetest.Read(t, name), bytes.Join(mine, nil))
		})
	}
}

// Two writes to the same range do not mix: the range has the bytes of one of them.
func TestWriteAt_Overlapping(t *testing.T) {
	t.Parallel()
	rounds := 3000
	if testing.Short() || race.Detector {
		rounds = 300
	}
	const size = 100_000 // more than one range lock covers
	f := filetest.Open(t, filetest.Temp(t, bytes.Repeat([]byte{'A'}, 2*size)))
	one, other := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, size)
	filetest.PrefaultWrites(t, f, bytes.Repeat([]byte{'A'}, 2*size))
	for round := range rounds {
		var writers sync.WaitGroup
		for _, b := range [][]byte{one, other} {
			writers.Add(1)
			go func() {
				defer writers.Done()
				if n, err := f.WriteAt(b, 10); n != size || err != nil {
					t.Errorf("WriteAt: %d, %v", n, err)
				}
			}()
		}
		writers.Wait()
		got := make([]byte, size)
		if _, err := f.ReadAt(got, 10); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, one) && !bytes.Equal(got, other) {
			t.Fatalf("round %d: the bytes of both writes are mixed", round)
		}
	}
}

// Writes beside Sync, Stat and a growing mapping lose no byte and do not deadlock.
func TestWriteAt_BesideSyncStatAndGrowth(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 300_000
	name := filetest.Temp(t, make([]byte, size))
	f := filetest.OpenMapped(t, name)
	want := filetest.Pattern(size)
	var stop atomic.Bool
	filetest.Together(t, 4, func(i int) error {
		switch i {
		case 0, 1: // each writes its own half in small pieces
			for range 3 {
				for off := i * size / 2; off < (i+1)*size/2; off += 50 {
					if n, err := f.WriteAt(want[off:off+50], int64(off)); n != 50 || err != nil {
						return fmt.Errorf("WriteAt: %d, %w", n, err)
					}
				}
			}
			if i == 0 {
				stop.Store(true)
			}
		case 2:
			for filetest.KeepGoing(&stop) {
				if _, err := f.Stat(); err != nil {
					return err
				}
				if err := f.Sync(); err != nil {
					return err
				}
			}
		case 3:
			for end := int64(size); !stop.Load(); end += 4096 {
				if _, err := f.WriteAt([]byte{1}, end); err != nil {
					return err
				}
				if b := f.Bytes(); filetest.CanMap && int64(len(b)) <= end {
					return fmt.Errorf("%d bytes of %d", len(b), end+1)
				}
				runtime.Gosched()
			}
		}
		return nil
	})
	filetest.SameBytes(t, "the file", filetest.Read(t, name)[:size], want)
}

// A mapped write beside a truncation by another handle leaves no bytes past the end that are read.
func TestWriteAt_EndAfterForeignTruncation(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.Open(t, name)
	data := bytes.Repeat([]byte{'w'}, size)
	for range 8 {
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 30 {
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := f.WriteAt(data, 0)
			done <- err
		}()
		if err := os.Truncate(name, size-100); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := f.ReadAt(make([]byte, 50), size-60)
		if want := min(50, max(0, fi.Size()-(size-60))); int64(n) != want {
			t.Fatalf("round %d: the file has %d bytes, and ReadAt returns %d at %d", round, fi.Size(), n, size-60)
		}
	}
}
