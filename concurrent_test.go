package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// ftLess is n, or less of it where that takes long.
func ftLess(n int) int {
	if runtime.GOARCH == "wasm" {
		return max(1, n/60) // each call takes 20 µs
	}
	if testing.Short() || mmapfile.RaceDetector {
		return n / 8
	}
	return n
}

// ftTogether runs fn on n goroutines and waits; a result that is not nil fails the test.
func ftTogether(t testing.TB, n int, fn func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := fn(i); err != nil {
				t.Errorf("goroutine %d: %v", i, err)
			}
		}()
	}
	ftWithin(t, 2*time.Minute, all.Wait)
}

func TestGoroutinesOnDisjointRangesSeeTheirOwnBytes(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	const workers, strip = 8, 8192 + 13 // strips meet inside pages and cache lines
	for _, start := range []string{"Lazy", "Mapped", "Empty"} {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			content := make([]byte, workers*strip)
			if start == "Empty" {
				content = nil
			}
			name := ftTemp(t, content)
			f := ftOpen(t, name)
			if start == "Mapped" {
				ftMap(t, f)
			}
			mine := make([][]byte, workers)
			ftTogether(t, workers, func(i int) error {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				mine[i] = make([]byte, strip)
				base := int64(i * strip)
				if _, err := f.WriteAt(mine[i], base); err != nil {
					return err
				}
				got := make([]byte, strip)
				for range ftLess(3000) {
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
			ftSame(t, "the file", ftGet(t, name), bytes.Join(mine, nil))
		})
	}
}

func TestReadersSeeAllThatAWriterBeyondTheEndHasPublished(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	for _, by := range []string{"WriteAt", "Write", "ReadFrom", "Append"} {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", by, mapped), func(t *testing.T) {
				t.Parallel()
				whole := ftPattern(ftLess(2 << 20))
				name := ftTemp(t, whole[:100])
				flag := os.O_RDWR
				if by == "Append" {
					flag |= os.O_APPEND
				}
				f, err := mmapfile.OpenFile(name, flag, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if mapped {
					ftMap(t, f)
				}
				var published atomic.Int64
				published.Store(100)
				ftTogether(t, 4, func(i int) error {
					if i == 0 {
						defer published.Store(-1)
						return ftGrow(f, by, whole, &published)
					}
					r := rand.New(rand.NewPCG(uint64(i), 2))
					buf := make([]byte, 20_000)
					for {
						known := published.Load()
						if known < 0 {
							return nil
						}
						b := buf[:1+r.IntN(len(buf))]
						off := max(0, known-int64(r.IntN(30_000)))
						n, err := f.ReadAt(b, off)
						if err := ftReadResult(n, len(b), err); err != nil {
							return err
						}
						sure := int(min(known-off, int64(len(b))))
						if n < sure || !bytes.Equal(b[:sure], whole[off:off+int64(sure)]) {
							return fmt.Errorf("%d bytes at %d of a file of %d, or other bytes", n, off, known)
						}
						if err := ftOldOrZero(b[:n], off); err != nil {
							return err
						}
						if i == 3 {
							if n := f.Len(); int64(n) < known {
								return fmt.Errorf("Len is %d of %d", n, known)
							}
							if b := f.Bytes(); mmapfile.CanMap && int64(len(b)) < known {
								return fmt.Errorf("Bytes are %d of %d", len(b), known)
							}
						}
					}
				})
				ftSame(t, "the file", ftGet(t, name), whole)
			})
		}
	}
}

// ftGrow writes the rest of whole behind the 100 bytes that f has, and publishes how far it is.
func ftGrow(f *mmapfile.File, by string, whole []byte, published *atomic.Int64) error {
	if _, err := f.Seek(100, io.SeekStart); err != nil {
		return err
	}
	for off, step := 100, 1; off < len(whole); step = step*7%4999 + 1 {
		end := min(off+step, len(whole))
		var n int
		var err error
		switch by {
		case "WriteAt":
			n, err = f.WriteAt(whole[off:end], int64(off))
		case "Write", "Append":
			n, err = f.Write(whole[off:end])
		case "ReadFrom":
			var m int64
			m, err = f.ReadFrom(bytes.NewReader(whole[off:end]))
			n = int(m)
		}
		if n != end-off || err != nil {
			return fmt.Errorf("%s: %d of %d, %w", by, n, end-off, err)
		}
		if n := f.Len(); n < end {
			return fmt.Errorf("Len is %d after %s up to %d", n, by, end)
		}
		off = end
		published.Store(int64(off))
	}
	return nil
}

// One goroutine cuts and extends through the File itself, and must see what it did; the others read.
func TestTruncateInALoopIsExactWhileOthersRead(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	const size = 100_000
	whole := ftPattern(size)
	name := ftTemp(t, whole)
	f := ftOpenMapped(t, name)
	var stop atomic.Bool
	ftTogether(t, 5, func(i int) error {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		b := make([]byte, size+100)
		if i == 0 {
			defer stop.Store(true)
			rounds := ftLess(2000)
			if runtime.GOOS == "windows" {
				rounds = 100 // each leaves one more range for the slices of Bytes to stay good, see cut
			}
			return ftCutAndExtend(f, r, whole, rounds)
		}
		for ftGoOn(&stop) {
			off := r.Int64N(size)
			switch i {
			case 1: // up to the end
				n, err := f.ReadAt(b, off)
				if err := errors.Join(ftReadResult(n, len(b), err), ftOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 2:
				n, err := f.ReadAt(b[:200], off)
				if err := errors.Join(ftReadResult(n, 200, err), ftOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 3:
				if ftEmulator != "" {
					return nil // it gives a wrong address of a fault, or none, and the page may be back by now
				}
				var bad error
				_ = f.View(off, 100, func(p []byte) error { bad = ftOldOrZero(p, off); return nil })
				if bad != nil {
					return bad
				}
			case 4:
				if mmapfile.CanMap {
					if n := len(f.Bytes()); n > size+100 {
						return fmt.Errorf("Bytes gave %d bytes", n)
					}
				}
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					return err
				}
				n, err := f.Read(b[:300])
				if err != nil && err != io.EOF {
					return err
				}
				if err := ftOldOrZero(b[:n], off); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func ftCutAndExtend(f *mmapfile.File, r *rand.Rand, whole []byte, rounds int) error {
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
			return fmt.Errorf("round %d: Stat gives %d after Truncate(%d), %w", round, fi.Size(), cut, err)
		}
		off := max(0, cut-10)
		if n, err := f.ReadAt(b[:100], off); int64(n) != cut-off || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt gives %d, %w, 10 bytes before the end", round, n, err)
		}
		if n, err := f.ReadAt(b[:1], cut); n != 0 || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt gives %d, %w at the end", round, n, err)
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

// Whichever of the two comes last, the length that is remembered afterwards is the file's.
func TestLenIsTheFilesAfterWritesRacedTruncations(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := ftTemp(t, ftPattern(10_000))
		f := ftOpen(t, name)
		if mapped {
			ftMap(t, f)
		}
		for round := range ftLess(4000) {
			size := int64(1000 + round%1000)
			ftTogether(t, 3, func(i int) error {
				switch i {
				case 0:
					_, err := f.WriteAt([]byte("beyond the end"), 5000+size)
					return err
				case 1:
					return f.Truncate(size)
				}
				_, err := f.ReadAt(make([]byte, 10_000), 0)
				if err == io.EOF {
					err = nil
				}
				return err
			})
			fi, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if n := f.Len(); int64(n) != fi.Size() {
				t.Fatalf("round %d: Len is %d, the file's size %d", round, n, fi.Size())
			}
			want := ftGet(t, name)
			got := make([]byte, 10_000)
			n, err := f.ReadAt(got, 0)
			if n != len(want) || err != io.EOF {
				t.Fatalf("round %d: ReadAt gives %d, %v, of %d", round, n, err, len(want))
			}
			if ftSame(t, "ReadAt", got[:n], want); t.Failed() {
				return
			}
		}
	}
}

// Sync, Stat and moves of the mapping while bytes are stored must lose no byte and keep no lock.
func TestStoresGoOnDuringSyncStatAndGrowth(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	const size = 300_000
	name := ftTemp(t, make([]byte, size))
	f := ftOpenMapped(t, name)
	want := ftPattern(size)
	var stop atomic.Bool
	ftTogether(t, 4, func(i int) error {
		switch i {
		case 0, 1: // each its own half, in small pieces, often
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
			for ftGoOn(&stop) {
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
				if b := f.Bytes(); mmapfile.CanMap && int64(len(b)) <= end {
					return fmt.Errorf("%d bytes of %d", len(b), end+1)
				}
				runtime.Gosched()
			}
		}
		return nil
	})
	ftSame(t, "the file", ftGet(t, name)[:size], want)
}
