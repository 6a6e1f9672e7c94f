package scan_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

func TestIndexNot_LowestMatch(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte{0}, 1<<20)
	for i := 300_000; i < len(content); i += 7919 {
		content[i] = 1
	}
	f := open(t, content)
	for range 50 {
		for _, access := range accesses {
			s := scan.Scanner{Workers: 8, Chunk: 4096}.With(access)
			if n, err := s.IndexNot(ctx, f, 0); n != 300_000 || err != nil {
				t.Fatalf("IndexNot: %d, %v", n, err)
			}
			if n, err := s.LastIndex(ctx, f, []byte{1}); n != int64(bytes.LastIndexByte(content, 1)) || err != nil {
				t.Fatalf("LastIndex: %d, %v", n, err)
			}
		}
	}
}

func TestIndexNot_FirstOfTwo(t *testing.T) {
	t.Parallel()
	const size = 9000
	content := bytes.Repeat([]byte("a"), size)
	f := open(t, content)
	step := 97
	if testing.Short() {
		step = 971
	}
	for first := 0; first < size; first += step {
		for _, second := range []int{first + 1, first + 511, first + 512, first + 2048, first + 2250, first + 4500, size - 1} {
			if second >= size {
				continue
			}
			for _, at := range []int{second, first} {
				if _, err := f.WriteAt([]byte("b"), int64(at)); err != nil {
					t.Fatal(err)
				}
				if got, err := scan.IndexNot(ctx, f, 'a'); got != int64(at) || err != nil {
					t.Errorf("%d, %v; want %d", got, err, at)
				}
			}
			for _, at := range []int{second, first} {
				if _, err := f.WriteAt([]byte("a"), int64(at)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if got, err := scan.IndexNot(ctx, f, 'a'); got != -1 || err != nil {
		t.Errorf("%d, %v in a file without", got, err)
	}
}

// The search ends with an error or in full, and leaves no goroutine.
func TestIndexNot_ConcurrentTruncateAndClose(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH == "wasm" {
		t.Skip("one goroutine runs at a time")
	}
	before := runtime.NumGoroutine()
	const size = 4 << 20
	for round := range 40 {
		for _, access := range accesses {
			f := open(t, make([]byte, size))
			s := scan.Scanner{Workers: 3, Chunk: 64 << 10}.With(access)
			var other sync.WaitGroup
			other.Go(func() {
				for range round {
					runtime.Gosched()
				}
				if round%2 == 0 {
					f.Close()
				} else {
					f.Truncate(100)
				}
			})
			n, err := s.IndexNot(ctx, f, 0)
			if n != -1 || err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("round %d, access %v: %d, %v", round, access, n, err)
			}
			other.Wait()
		}
	}
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+20 && time.Now().Before(end); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before+20 { // other tests run concurrently
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestCount_LongSeparator(t *testing.T) {
	t.Parallel()
	// The time to find out that sep does not overlap itself is linear in its length.
	sep := append(bytes.Repeat([]byte("a"), 1<<20), 'b')
	f := open(t, append(bytes.Repeat(sep, 2), "aaa"...))
	if n, err := scan.Count(ctx, f, sep); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestForEach_FirstError(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	bad := errors.New("bad")
	for _, access := range accesses {
		var calls atomic.Int64
		err := scan.Scanner{Workers: 4, Chunk: 1024}.With(access).ForEach(ctx, f, func(off int64, _ []byte) error {
			calls.Add(1)
			if off >= 10*1024 {
				return fmt.Errorf("%w at %d", bad, off)
			}
			return nil
		})
		if !errors.Is(err, bad) || err.Error() != "bad at 10240" || calls.Load() > 100 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
	}
}

// Errors that the package itself interprets come back unchanged from fn.
func TestForEach_ErrorUnchanged(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1000))
	for _, access := range accesses {
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, errors.ErrUnsupported, os.ErrClosed} {
			calls := 0
			err := scan.Scanner{Workers: 1}.With(access).ForEach(ctx, f, func(int64, []byte) error { calls++; return want })
			if err != want || calls != 1 {
				t.Errorf("access %v: %v came back as %v after %d calls", access, want, err, calls)
			}
		}
	}
}

func TestForEach_Panic(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	for _, workers := range []int{1, 4} {
		func() {
			defer func() {
				if r := recover(); r != "mine" {
					t.Errorf("recovered %v", r)
				}
			}()
			scan.Scanner{Workers: workers, Chunk: 1024}.ForEach(ctx, f, func(int64, []byte) error { panic("mine") })
			t.Error("no panic")
		}()
		done := make(chan bool)
		go func() {
			defer close(done)
			scan.Scanner{Workers: workers, Chunk: 1024}.ForEach(ctx, f, func(int64, []byte) error { runtime.Goexit(); return nil })
			t.Error("Goexit did not end the caller")
		}()
		<-done
	}
}

func TestForEach_GoexitWaits(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH == "wasm" {
		t.Skip("one goroutine runs at a time")
	}
	f := open(t, make([]byte, 100_000))
	for range 20 {
		var inside atomic.Int64
		var caller sync.WaitGroup
		caller.Go(func() {
			defer func() {
				if n := inside.Load(); n != 0 {
					t.Errorf("%d calls are inside when the caller ends", n)
				}
			}()
			scan.Scanner{Workers: 4, Chunk: 1000}.ForEach(ctx, f, func(off int64, _ []byte) error {
				inside.Add(1)
				defer inside.Add(-1)
				if off == 5000 {
					runtime.Goexit()
				}
				for range 1000 {
					runtime.Gosched()
				}
				return nil
			})
		})
		caller.Wait()
	}
}

func TestForEach_OneWorkerInOrder(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 100_000))
	next := int64(0)
	if err := (scan.Scanner{Workers: 1, Chunk: 999}).ForEach(ctx, f, func(off int64, p []byte) error {
		if off != next {
			t.Errorf("a piece at %d, want %d", off, next)
		}
		next = off + int64(len(p))
		return nil
	}); err != nil || next != 100_000 {
		t.Errorf("%v at %d", err, next)
	}
}

// shortened are the ways in which a file ends during a search.
var shortened = map[string]struct {
	do   func(f *mmapfile.File) error
	want error
}{
	"truncated": {func(f *mmapfile.File) error { return f.Truncate(10_000) }, io.ErrUnexpectedEOF},
	"closed":    {(*mmapfile.File).Close, os.ErrClosed},
}

func TestForEach_TruncatedOrClosed(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		for what, c := range shortened {
			f := open(t, make([]byte, 2<<20))
			last := int64(-1)
			s := scan.Scanner{Workers: 1, Chunk: 64 << 10}.With(access)
			err := s.ForEach(ctx, f, func(off int64, p []byte) error {
				last = off
				if off == 128<<10 {
					return c.do(f)
				}
				return nil
			})
			if pe := (*fs.PathError)(nil); !errors.Is(err, c.want) || !errors.As(err, &pe) || last != 128<<10 {
				t.Errorf("%s, access %v: %v after the piece at %d", what, access, err, last)
			}
		}
	}
}
