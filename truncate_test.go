package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// One goroutine truncates and extends the File, and sees the exact size. The others read.
func TestTruncate_BesideReads(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 100_000
	whole := filetest.Pattern(size)
	name := filetest.Temp(t, whole)
	f := mustOpenMapped(t, name)
	var stop atomic.Bool
	filetest.Together(t, 5, func(i int) error {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		b := make([]byte, size+100)
		if i == 0 {
			defer stop.Store(true)
			rounds := filetest.Iterations(2000)
			if runtime.GOOS == "windows" {
				rounds = 100 // each keeps one more range, because slices of Bytes stay valid
			}
			return truncateAndExtend(f, r, whole, rounds)
		}
		for filetest.KeepGoing(&stop) {
			off := r.Int64N(size)
			switch i {
			case 1: // up to the end
				n, err := f.ReadAt(b, off)
				if err := errors.Join(filetest.CheckReadResult(n, len(b), err), filetest.CheckOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 2:
				n, err := f.ReadAt(b[:200], off)
				if err := errors.Join(filetest.CheckReadResult(n, 200, err), filetest.CheckOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 3:
				if filetest.Emulator != "" {
					return nil // the fault address may be wrong, and the page may exist again by now
				}
				var bad error
				_ = f.View(off, 100, func(p []byte) error { bad = filetest.CheckOldOrZero(p, off); return nil })
				if bad != nil {
					return bad
				}
			case 4:
				if mmapfile.CanMap {
					if n := len(f.Bytes()); n > size+100 {
						return fmt.Errorf("Bytes has %d bytes", n)
					}
				}
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					return err
				}
				n, err := f.Read(b[:300])
				if err != nil && err != io.EOF {
					return err
				}
				if err := filetest.CheckOldOrZero(b[:n], off); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// truncateAndExtend truncates and extends f, and checks its size and content each time.
func truncateAndExtend(f *mmapfile.File, r *rand.Rand, whole []byte, rounds int) error {
	b := make([]byte, len(whole)+1)
	for round := range rounds {
		cut := r.Int64N(int64(len(whole)))
		if err := f.Truncate(cut); err != nil {
			return err
		}
		if n := f.Len(); int64(n) != cut {
			return fmt.Errorf("round %d: Len is %d after Truncate(%d)", round, n, cut)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() != cut {
			return fmt.Errorf("round %d: Stat returned %d after Truncate(%d), %w", round, fi.Size(), cut, err)
		}
		off := max(0, cut-10)
		if n, err := f.ReadAt(b[:100], off); int64(n) != cut-off || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt returned %d, %w, 10 bytes before the end", round, n, err)
		}
		if n, err := f.ReadAt(b[:1], cut); n != 0 || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt returned %d, %w at the end", round, n, err)
		}
		if round%2 == 0 {
			if err := f.Truncate(int64(len(whole))); err != nil {
				return err
			}
			n, err := f.ReadAt(b, cut)
			if n != len(whole)-int(cut) || err != io.EOF || len(bytes.Trim(b[:n], "\x00")) != 0 {
				return fmt.Errorf("round %d: ReadAt of what was extended: %d, %w", round, n, err)
			}
		}
		if n, err := f.WriteAt(whole[cut:], cut); n != len(whole)-int(cut) || err != nil {
			return fmt.Errorf("round %d: WriteAt: %d, %w", round, n, err)
		}
		if n := f.Len(); n != len(whole) {
			return fmt.Errorf("round %d: Len is %d after WriteAt up to %d", round, n, len(whole))
		}
		if n, err := f.ReadAt(b, 0); n != len(whole) || err != io.EOF || !bytes.Equal(b[:n], whole) {
			return fmt.Errorf("round %d: ReadAt of the whole: %d, %w, or other bytes", round, n, err)
		}
	}
	return nil
}

// A write beside a truncation of the same File happens as a whole, before it or after it.
func TestTruncate_BesideWriteAt(t *testing.T) {
	t.Parallel()
	rounds := 6000
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 600
	}
	const size, off, n, cut = 100_000, 1000, 60_000, 30_500
	name := filetest.Temp(t, nil)
	f := filetest.Open(t, name)
	old, b := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, n)
	stored := 0
	for round := range rounds {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		mustMap(t, f)
		mmapfile.PrefaultAll(f)
		for range 2 { // the first begins a period; under the race detector the last page is not mapped
			if _, err := f.WriteAt(old[:n], 0); err != nil {
				t.Fatal(err)
			}
		}
		if mmapfile.WroteMapped(f) {
			stored++
		}
		var both sync.WaitGroup
		both.Go(func() {
			for range round % 50 {
				runtime.Gosched() // another moment of the write in each round
			}
			for _, size := range []int64{cut, size} {
				if err := f.Truncate(size); err != nil {
					t.Error(err)
				}
			}
		})
		both.Go(func() {
			if k, err := f.WriteAt(b, off); k != n || err != nil {
				t.Errorf("WriteAt: %d, %v", k, err)
			}
		})
		both.Wait()
		if k := bytes.Count(filetest.Read(t, name), b[:1]); k != n && k != cut-off {
			t.Fatalf("round %d: %[3]d of the %[2]d written bytes are left, want all or the %[4]d before the truncation", round, n, k, cut-off)
		}
	}
	if mmapfile.MapsUnasked && stored < rounds/2 {
		t.Errorf("only %d of %d rounds with mapped writes", stored, rounds)
	}
}
