//go:build unix

package ostest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

func TestReadAt_BesideForeignTruncation(t *testing.T) {
	t.Parallel()
	const size = 200_000
	for _, by := range []string{"AnotherHandle", "AnotherProcess", "Itself"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, filetest.Pattern(size))
			f := filetest.OpenMapped(t, name)
			var readers sync.WaitGroup
			var stop atomic.Bool
			start := func(read func(r *rand.Rand, b []byte) error) {
				r := rand.New(rand.NewPCG(1, uint64(size)))
				readers.Go(func() {
					b := make([]byte, size)
					for filetest.KeepGoing(&stop) {
						if err := read(r, b); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			start(func(r *rand.Rand, b []byte) error {
				b, off := b[:1+r.IntN(300)], r.Int64N(size)
				n, err := f.ReadAt(b, off)
				if err := filetest.CheckReadResult(n, len(b), err); err != nil {
					return fmt.Errorf("short ReadAt at %d: %w", off, err)
				}
				return filetest.CheckOldOrZero(b[:n], off)
			})
			start(func(r *rand.Rand, b []byte) error {
				n, err := f.ReadAt(b, 0)
				if err := filetest.CheckReadResult(n, len(b), err); err != nil {
					return fmt.Errorf("ReadAt of the whole: %w", err)
				}
				return filetest.CheckOldOrZero(b[:n], 0)
			})
			start(func(r *rand.Rand, b []byte) error {
				off := r.Int64N(size)
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					return err
				}
				n, err := f.Read(b[:5000])
				if n < 0 || n > 5000 || (n > 0) != (err == nil) || n == 0 && err != io.EOF {
					return fmt.Errorf("Read at %d: %d, %v", off, n, err)
				}
				return filetest.CheckOldOrZero(b[:n], off)
			})
			start(func(r *rand.Rand, b []byte) error {
				if filetest.Emulator != "" {
					return nil // as in TestTruncate_BesideReads
				}
				off := r.Int64N(size - 10_000)
				var bad error
				err := f.View(off, 10_000, func(p []byte) error {
					bad = filetest.CheckOldOrZero(p, off)
					return nil
				})
				if err != nil {
					return nil // the range was truncated before or during fn
				}
				return bad
			})
			rounds := 1500
			if testing.Short() || race.Detector {
				rounds = 300
			}
			switch by {
			case "AnotherHandle":
				other, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				if err := churnFile(other, size, rounds); err != nil {
					t.Error(err)
				}
			case "AnotherProcess":
				defer readers.Wait()
				defer stop.Store(true)
				filetest.RunChild(t, filetest.ChildCommand(t, nil, "churn", name, fmt.Sprint(rounds)))
			case "Itself":
				if err := churnFile(f, size, rounds); err != nil {
					t.Error(err)
				}
			}
			stop.Store(true)
			filetest.Within(t, readers.Wait)
			fi, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if by != "Itself" { // a change by others shows once a call asks
				if _, err := f.Stat(); err != nil {
					t.Fatal(err)
				}
			}
			if n := f.Len(); int64(n) != fi.Size() {
				t.Errorf("Len is %d, the file has %d bytes", n, fi.Size())
			}
		})
	}
}

func TestWriteTo_BesideForeignTruncation(t *testing.T) {
	t.Parallel()
	const size = 200_000
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.OpenMapped(t, name)
	var churn sync.WaitGroup
	churn.Add(1)
	var stop atomic.Bool
	go func() {
		defer churn.Done()
		defer stop.Store(true)
		other, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer other.Close()
		if err := churnFile(other, size, 300); err != nil {
			t.Error(err)
		}
	}()
	defer churn.Wait()
	for filetest.KeepGoing(&stop) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		n, err := f.WriteTo(&to)
		if err != nil || n != int64(to.Len()) {
			t.Fatalf("WriteTo: %d, %v with %d bytes delivered", n, err, to.Len())
		}
		if err := filetest.CheckOldOrZero(to.Bytes(), 0); err != nil {
			t.Fatal(err)
		}
		if pos, err := f.Seek(0, io.SeekCurrent); pos != n || err != nil {
			t.Fatalf("the cursor is at %d, %v after %d bytes", pos, err, n)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if n, err = f.WriteTo(io.Discard); err != nil || n > size {
			t.Fatalf("WriteTo io.Discard: %d, %v", n, err)
		}
		if pos, err := f.Seek(0, io.SeekCurrent); pos != n || err != nil {
			t.Fatalf("the cursor is at %d, %v after %d bytes", pos, err, n)
		}
	}
}

func TestWriteAt_BesideForeignTruncation(t *testing.T) {
	t.Parallel()
	const size = 100_000
	content := filetest.Pattern(size)
	name := filetest.Temp(t, content)
	f := filetest.OpenMapped(t, name)
	filetest.PrefaultWrites(t, f, content)
	var churn sync.WaitGroup
	var stop atomic.Bool
	churn.Go(func() {
		defer stop.Store(true)
		for range 500 {
			cut := rand.Int64N(size)
			if err := os.Truncate(name, cut); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer churn.Wait()
	for i := 0; !stop.Load(); i++ {
		off := rand.Int64N(size - 100)
		if n, err := f.WriteAt(content[off:off+100], off); n != 100 || err != nil {
			t.Fatalf("WriteAt: %d, %v", n, err)
		}
	}
	churn.Wait()
	// Nothing truncates the file from now on, so every write stays.
	for off := int64(0); off < size; off += 100 {
		if n, err := f.WriteAt(content[off:off+100], off); n != 100 || err != nil {
			t.Fatalf("WriteAt: %d, %v", n, err)
		}
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), content)
}
