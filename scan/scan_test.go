package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

var ctx = context.Background()

// open makes a file with that content, open until the test's end.
func open(t testing.TB, content []byte) *mmapfile.File {
	t.Helper()
	name := filepath.Join(tempDir(t), "data")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// tempDir is t.TempDir without its complaint where a file cannot be removed while it is mapped.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scan-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// check compares every function with that of package bytes.
func check(t testing.TB, s scan.Scanner, f *mmapfile.File, content, sep []byte) {
	t.Helper()
	same := func(what string, got int64, err error, want int) {
		t.Helper()
		if got != int64(want) || err != nil {
			t.Fatalf("%s of %q in %d bytes, %+v: %d, %v, want %d", what, sep, len(content), s, got, err, want)
		}
	}
	n, err := s.Index(ctx, f, sep)
	same("Index", n, err, bytes.Index(content, sep))
	n, err = s.LastIndex(ctx, f, sep)
	same("LastIndex", n, err, bytes.LastIndex(content, sep))
	n, err = s.Count(ctx, f, sep)
	same("Count", n, err, bytes.Count(content, sep))
	c := byte('a')
	if len(sep) > 0 {
		c = sep[0]
	}
	n, err = s.IndexByte(ctx, f, c)
	same("IndexByte", n, err, bytes.IndexByte(content, c))
	n, err = s.IndexNot(ctx, f, c)
	same("IndexNot", n, err, slices.IndexFunc(content, func(b byte) bool { return b != c }))

	var got, want []int64
	for at, err := range s.All(ctx, f, sep) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at)
	}
	for at := 0; len(sep) > 0; {
		i := bytes.Index(content[at:], sep)
		if i < 0 {
			break
		}
		want = append(want, int64(at+i))
		at += i + len(sep)
	}
	if len(sep) == 0 {
		for i := range string(content) {
			want = append(want, int64(i))
		}
		want = append(want, int64(len(content)))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("All of %q in %d bytes, %+v: %d, want %d", sep, len(content), s, got, want)
	}

	var lines, wantLines []string
	at := int64(0)
	for line, err := range s.Lines(ctx, f) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Offset != at || line.Number != int64(len(lines)+1) {
			t.Fatalf("line %d at %d, want line %d at %d", line.Number, line.Offset, len(lines)+1, at)
		}
		at += int64(len(line.Text))
		lines = append(lines, string(line.Text))
	}
	for line := range bytes.Lines(content) {
		wantLines = append(wantLines, string(line))
	}
	if !slices.Equal(lines, wantLines) {
		t.Fatalf("%d lines, want %d; %+v", len(lines), len(wantLines), s)
	}

	var mu sync.Mutex
	all := make([]byte, len(content))
	seen := 0
	if err := s.Chunks(ctx, f, func(off int64, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		seen += copy(all[off:], p)
		return nil
	}); err != nil || seen != len(content) || !bytes.Equal(all, content) {
		t.Fatalf("Chunks: %d bytes of %d, %v; %+v", seen, len(content), err, s)
	}
}

var accesses = []scan.Access{scan.AccessAuto, scan.AccessView, scan.AccessRead}

func TestEverySearchGivesWhatBytesGives(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() || runtime.GOARCH == "wasm" {
		rounds = 40
	}
	pieces := 5000
	switch {
	case runtime.GOARCH == "wasm":
		rounds, pieces = 10, 100 // a system call takes its time there
	case testing.Short() && runtime.GOOS == "windows":
		rounds, pieces = 20, 200 // and a View, which maps the file each time
	}
	for range rounds {
		content := make([]byte, []int{0, 1, 2, 7, 100, 4096, 4097, 70_000}[rnd.IntN(8)])
		letters := []string{"a", "ab", "ab\n", "aé\xff\n"}[rnd.IntN(4)]
		for i := range content {
			content[i] = letters[rnd.IntN(len(letters))]
		}
		f := open(t, content)
		for range 6 {
			sep := make([]byte, rnd.IntN(5))
			for i := range sep {
				sep[i] = letters[rnd.IntN(len(letters))]
			}
			chunk := []int{1, 2, 3, 5, 64, 100, 4096, 0}[rnd.IntN(8)]
			if len(content)/max(chunk, 1) > pieces {
				chunk = 1000
			}
			check(t, scan.Scanner{Workers: rnd.IntN(5), Chunk: chunk}.With(accesses[rnd.IntN(3)]), f, content, sep)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree"), []byte("t"), uint8(1), uint8(2))
	f.Add([]byte("aaaaaaa"), []byte("aa"), uint8(3), uint8(0))
	f.Add([]byte("\xff\xc3\xa9x"), []byte(""), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, content, sep []byte, chunk, how uint8) {
		if len(content) > 10_000 {
			t.Skip("chunks of one byte would take long")
		}
		check(t, scan.Scanner{Workers: int(how % 4), Chunk: int(chunk)}.With(accesses[how/4%3]), open(t, content), content, sep)
	})
}

func TestLowestMatchWins(t *testing.T) {
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

func TestFirstErrorStopsAll(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	bad := errors.New("bad")
	for _, access := range accesses {
		var calls atomic.Int64
		err := scan.Scanner{Workers: 4, Chunk: 1024}.With(access).Chunks(ctx, f, func(off int64, _ []byte) error {
			calls.Add(1)
			if off >= 10*1024 {
				return fmt.Errorf("%w at %d", bad, off)
			}
			return nil
		})
		if !errors.Is(err, bad) || err.Error() != "bad at 10240" || calls.Load() > 100 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
		// Also one that looks like that of a file which cannot be mapped.
		calls.Store(0)
		err = scan.Scanner{Workers: 1}.With(access).Chunks(ctx, f, func(int64, []byte) error { calls.Add(1); return errors.ErrUnsupported })
		if err != errors.ErrUnsupported || calls.Load() != 1 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
	}
}

// What the function returns comes back as it is, whatever the package itself makes of such an error.
func TestErrorsOfTheFunctionAreNotTakenForOthers(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1000))
	for _, access := range accesses {
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, errors.ErrUnsupported, os.ErrClosed} {
			if err := (scan.Scanner{}).With(access).Chunks(ctx, f, func(int64, []byte) error { return want }); err != want {
				t.Errorf("access %v: %v came back as %v", access, want, err)
			}
		}
	}
}

func TestEnormousChunksAndManyWorkers(t *testing.T) {
	t.Parallel()
	content := []byte("to be or not to be")
	f := open(t, content)
	const most = int(^uint(0) >> 1)
	for _, access := range accesses {
		for _, chunk := range []int{most, most - 1, most - 17, most / 2, 19, 18, 17} {
			for _, workers := range []int{0, 1, most, most/2 + 1} {
				for _, sep := range []string{"be", "o", "", "to be or not to be", "to be or not to be?", "aa"} {
					check(t, scan.Scanner{Workers: workers, Chunk: chunk}.With(access), f, content, []byte(sep))
				}
			}
		}
	}
	if n, err := (scan.Scanner{Workers: most}).Count(ctx, f, []byte("o")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	// A border is looked for in no more time than the separator is long.
	if n, err := scan.Count(ctx, f, append(bytes.Repeat([]byte("a"), 1<<20), 'b')); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestGoexitInTheFunctionLeavesNoWorkerBehind(t *testing.T) {
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
			scan.Scanner{Workers: 4, Chunk: 1000}.Chunks(ctx, f, func(off int64, _ []byte) error {
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

func TestManyMatchesAreReadOnce(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("\n"), 1<<20)
	f := open(t, content)
	for _, access := range accesses {
		began, n := time.Now(), 0
		for _, err := range (scan.Scanner{}).With(access).All(ctx, f, []byte("\n")) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		t.Logf("access %v: %v", access, time.Since(began))
		if n != len(content) {
			t.Errorf("access %v: %d matches", access, n)
		}
	}
}

func TestAllStopsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	f := open(t, bytes.Repeat([]byte("x\n"), 10_000))
	for _, how := range []string{"All", "Lines"} {
		c, cancel := context.WithCancel(ctx)
		n, last := 0, error(nil)
		if how == "All" {
			for _, err := range scan.All(c, f, []byte("x")) {
				cancel()
				n++
				last = err
			}
		} else {
			for line, err := range scan.Lines(c, f) {
				cancel()
				n++
				if last = err; err != nil && (line.Offset != 0 || line.Number != 0 || line.Text != nil) {
					t.Errorf("%+v comes with %v", line, err)
				}
			}
		}
		if last != context.Canceled {
			t.Errorf("%s ends with %v", how, last)
		}
		if cancel(); n > 40 {
			t.Errorf("%s handed out %d after it was cancelled", how, n)
		}
	}
}

func TestPanicOfTheFunctionComesOutOfChunks(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	for _, workers := range []int{1, 4} {
		func() {
			defer func() {
				if r := recover(); r != "mine" {
					t.Errorf("recovered %v", r)
				}
			}()
			scan.Scanner{Workers: workers, Chunk: 1024}.Chunks(ctx, f, func(int64, []byte) error { panic("mine") })
			t.Error("no panic")
		}()
		done := make(chan bool)
		go func() {
			defer close(done)
			scan.Scanner{Workers: workers, Chunk: 1024}.Chunks(ctx, f, func(int64, []byte) error { runtime.Goexit(); return nil })
			t.Error("Goexit did not end the caller")
		}()
		<-done
	}
}

func TestCancelledSearchReturnsTheContextsError(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	c, cancel := context.WithCancel(ctx)
	var calls atomic.Int64
	err := scan.Scanner{Workers: 2, Chunk: 1024}.Chunks(c, f, func(int64, []byte) error {
		if calls.Add(1) == 10 {
			cancel()
		}
		return nil
	})
	if err != context.Canceled || calls.Load() > 20 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	sep := []byte("x")
	_, e1 := scan.Index(c, f, sep)
	_, e2 := scan.IndexNot(c, f, 0)
	_, e3 := scan.LastIndex(c, f, sep)
	_, e4 := scan.Count(c, f, sep)
	_, e5 := scan.Count(c, f, []byte("xx"))
	_, e6 := scan.Index(c, f, nil)
	for i, err := range []error{e1, e2, e3, e4, e5, e6} {
		if err != context.Canceled {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for at, err := range scan.All(c, f, sep) {
		if at != -1 || err != context.Canceled {
			t.Errorf("All: %d, %v", at, err)
		}
	}
	for line, err := range scan.Lines(c, f) {
		if line.Number != 0 || err != context.Canceled {
			t.Errorf("Lines: %+v, %v", line, err)
		}
	}
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("line\n"), 100_000)
	f := open(t, content)
	for what, do := range map[string]func(s scan.Scanner) error{
		"Count": func(s scan.Scanner) error { _, err := s.Count(ctx, f, []byte("n")); return err },
		"Index": func(s scan.Scanner) error { _, err := s.Index(ctx, f, []byte("l")); return err },
		"All": func(s scan.Scanner) error {
			for _, err := range s.All(ctx, f, []byte("n")) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Lines": func(s scan.Scanner) error {
			for _, err := range s.Lines(ctx, f) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Chunks": func(s scan.Scanner) error { return s.Chunks(ctx, f, func(int64, []byte) error { return nil }) },
	} {
		var last, calls int64
		err := do(scan.Scanner{Chunk: 1000, Progress: func(done, total int64) {
			calls++
			if done < last || total != int64(len(content)) {
				t.Errorf("%s: %d of %d after %d", what, done, total, last)
			}
			last = done
		}})
		if err != nil || last != int64(len(content)) || calls > 1000 {
			t.Errorf("%s: %v, progress ended at %d in %d calls", what, err, last, calls)
		}
	}
}

func TestOneWorkerTakesPiecesInOrder(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 100_000))
	next := int64(0)
	if err := (scan.Scanner{Workers: 1, Chunk: 999}).Chunks(ctx, f, func(off int64, p []byte) error {
		if off != next {
			t.Errorf("a piece at %d, want %d", off, next)
		}
		next = off + int64(len(p))
		return nil
	}); err != nil || next != 100_000 {
		t.Errorf("%v at %d", err, next)
	}
}

func TestIndexNotFindsTheFirstOfTwoWhereverTheyAre(t *testing.T) {
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
