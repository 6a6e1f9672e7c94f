package scan_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

func TestWhatIsNoFileIsAnError(t *testing.T) {
	t.Parallel()
	dir, err := mmapfile.Open(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	closed := open(t, []byte("x"))
	closed.Close()
	for what, c := range map[string]struct {
		f    *mmapfile.File
		want error
	}{"nil": {nil, os.ErrInvalid}, "closed": {closed, os.ErrClosed}, "a directory": {dir, errors.ErrUnsupported}} {
		_, e1 := scan.Index(ctx, c.f, []byte("x"))
		_, e2 := scan.Count(ctx, c.f, nil)
		_, e3 := scan.LastIndex(ctx, c.f, []byte("x"))
		e4 := scan.Chunks(ctx, c.f, func(int64, []byte) error { t.Error("called"); return nil })
		var e5 error
		for at, err := range scan.All(ctx, c.f, []byte("x")) {
			if e5 = err; at != -1 || err == nil {
				t.Errorf("%s: All yields %d, %v", what, at, err)
			}
		}
		var e6 error
		for line, err := range scan.Lines(ctx, c.f) {
			if e6 = err; line.Number != 0 || err == nil {
				t.Errorf("%s: Lines yields %+v, %v", what, line, err)
			}
		}
		for i, err := range []error{e1, e2, e3, e4, e5, e6} {
			if !errors.Is(err, c.want) {
				t.Errorf("%s, call %d: %v", what, i, err)
			}
			if pe := (*fs.PathError)(nil); c.f != nil && !errors.As(err, &pe) {
				t.Errorf("%s, call %d: %v is no PathError", what, i, err)
			}
		}
	}
}

// Whoever cuts or closes the file while it is searched, the search ends, with an error or in full.
func TestSearchBesideTruncationAndCloseEnds(t *testing.T) {
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
	if n := runtime.NumGoroutine(); n > before+20 { // other tests run beside
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestFileCutOrClosedInTheMiddleIsAnErrorOfTheNextPiece(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		for what, c := range map[string]struct {
			do   func(f *mmapfile.File) error
			want error
		}{
			"cut":    {func(f *mmapfile.File) error { return f.Truncate(10_000) }, io.ErrUnexpectedEOF},
			"closed": {(*mmapfile.File).Close, os.ErrClosed},
		} {
			f := open(t, bytes.Repeat([]byte("x\n"), 1<<20))
			last := int64(-1)
			s := scan.Scanner{Workers: 1, Chunk: 64 << 10}.With(access)
			err := s.Chunks(ctx, f, func(off int64, p []byte) error {
				last = off
				if off == 128<<10 {
					return c.do(f)
				}
				return nil
			})
			if pe := (*fs.PathError)(nil); !errors.Is(err, c.want) || !errors.As(err, &pe) || last != 128<<10 {
				t.Errorf("%s, access %v: %v after the piece at %d", what, access, err, last)
			}

			f = open(t, bytes.Repeat([]byte("x\n"), 1<<20))
			n := int64(0)
			for at, err2 := range s.All(ctx, f, []byte("\n")) {
				if err = err2; err != nil {
					if at != -1 {
						t.Errorf("%s, access %v: %d beside %v", what, access, at, err)
					}
					break
				}
				if n++; n == 1000 {
					if err := c.do(f); err != nil {
						t.Error(err)
					}
				}
			}
			if pe := (*fs.PathError)(nil); !errors.Is(err, c.want) || !errors.As(err, &pe) || n >= 1<<20 {
				t.Errorf("%s, access %v: All ends with %v after %d matches", what, access, err, n)
			}
		}
	}
}
