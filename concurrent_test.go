package mmapfile_test

import (
	"bytes"
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
	"go.dw1.io/mmapfile/internal/filetest"
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
				mustMap(t, f)
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
	if testing.Short() || mmapfile.RaceDetector {
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

func TestReadAt_FileGrowing(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, by := range []string{"WriteAt", "Write", "ReadFrom", "Append"} {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", by, mapped), func(t *testing.T) {
				t.Parallel()
				whole := filetest.Pattern(filetest.Iterations(2 << 20))
				name := filetest.Temp(t, whole[:100])
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
					mustMap(t, f)
				}
				var published atomic.Int64
				published.Store(100)
				filetest.Together(t, 4, func(i int) error {
					if i == 0 {
						defer published.Store(-1)
						return growFile(f, by, whole, &published)
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
						if err := filetest.CheckReadResult(n, len(b), err); err != nil {
							return err
						}
						written := int(min(known-off, int64(len(b))))
						if n < written || !bytes.Equal(b[:written], whole[off:off+int64(written)]) {
							return fmt.Errorf("%d bytes at %d of a file of %d, or other bytes", n, off, known)
						}
						if err := filetest.CheckOldOrZero(b[:n], off); err != nil {
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
				filetest.SameBytes(t, "the file", filetest.Read(t, name), whole)
			})
		}
	}
}

// growFile appends the rest of whole to the 100 bytes of f, and publishes its progress.
func growFile(f *mmapfile.File, by string, whole []byte, published *atomic.Int64) error {
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

// Writes beside Sync, Stat and a growing mapping lose no byte and do not deadlock.
func TestWriteAt_BesideSyncStatAndGrowth(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 300_000
	name := filetest.Temp(t, make([]byte, size))
	f := mustOpenMapped(t, name)
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
				if b := f.Bytes(); mmapfile.CanMap && int64(len(b)) <= end {
					return fmt.Errorf("%d bytes of %d", len(b), end+1)
				}
				runtime.Gosched()
			}
		}
		return nil
	})
	filetest.SameBytes(t, "the file", filetest.Read(t, name)[:size], want)
}

// A flush in the background loses no write of a program into Bytes, and has no data race with it.
// (If Bytes is a copy, the race detector sees it.)
func TestFlushPolicy_BesideBytes(t *testing.T) {
	t.Parallel()
	const size = 100_000
	name := filetest.Temp(t, make([]byte, size))
	f, err := mmapfile.Options{Flush: mmapfile.FlushPolicy{Interval: time.Millisecond}}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := f.Bytes()
	if _, err := f.WriteAt([]byte{0}, size); err != nil { // if Bytes is a copy, the next one is another
		t.Fatal(err)
	}
	b := f.Bytes()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for i := range b {
			b[i] += byte(i)
		}
		filetest.LoadBytes(old) // a flush updates it
		if _, err := f.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	want := append([]byte(nil), b...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), want)
}
