package scan_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// check compares the methods of s with the functions of package bytes.
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
	if err := s.ForEach(ctx, f, func(off int64, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		seen += copy(all[off:], p)
		return nil
	}); err != nil || seen != len(content) || !bytes.Equal(all, content) {
		t.Fatalf("ForEach: %d bytes of %d, %v; %+v", seen, len(content), err, s)
	}
}

func TestScanner_RandomContents(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() || runtime.GOARCH == "wasm" {
		rounds = 40
	}
	pieces := 5000
	switch {
	case runtime.GOARCH == "wasm":
		rounds, pieces = 10, 100 // a system call is slow there
	case testing.Short() && runtime.GOOS == "windows":
		rounds, pieces = 20, 200 // each View maps the file there
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

func TestScanner_LargestSettings(t *testing.T) {
	t.Parallel()
	content := []byte("to be or not to be")
	f := open(t, content)
	const most = int(^uint(0) >> 1)
	for _, access := range accesses {
		for _, chunk := range []int{most, most - 1, most - 17, most / 2, 19, 18, 17} {
			for _, workers := range []int{0, 1, most, most/2 + 1} {
				s := scan.Scanner{Workers: workers, Chunk: chunk}.With(access)
				for _, sep := range []string{"be", "o", "", "to be or not to be", "to be or not to be?", "aa"} {
					check(t, s, f, content, []byte(sep))
				}
				for _, overlap := range []int{most, most - 1, most / 2, 19, 18, 17, 2} {
					start, end, err := s.Find(ctx, f, overlap, word("be"))
					if start != 3 || end != 5 || err != nil {
						t.Errorf("Find with overlap %d, %+v: %d, %d, %v", overlap, s, start, end, err)
					}
				}
			}
		}
	}
	if n, err := (scan.Scanner{Workers: most}).Count(ctx, f, []byte("o")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestScanner_NotAFile(t *testing.T) {
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
		e4 := scan.ForEach(ctx, c.f, func(int64, []byte) error { t.Error("called"); return nil })
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
		_, _, e7 := scan.Find(ctx, c.f, 1, word("x"))
		for i, err := range []error{e1, e2, e3, e4, e5, e6, e7} {
			if !errors.Is(err, c.want) {
				t.Errorf("%s, call %d: %v", what, i, err)
			}
			if pe := (*fs.PathError)(nil); c.f != nil && !errors.As(err, &pe) {
				t.Errorf("%s, call %d: %v is no PathError", what, i, err)
			}
		}
	}
}

func TestScanner_Cancelled(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	c, cancel := context.WithCancel(ctx)
	var calls atomic.Int64
	err := scan.Scanner{Workers: 2, Chunk: 1024}.ForEach(c, f, func(int64, []byte) error {
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
	_, _, e7 := scan.Find(c, f, 1, word("x"))
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7} {
		if err != context.Canceled {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for at, err := range scan.All(c, f, sep) {
		if at != -1 || err != context.Canceled {
			t.Errorf("All: %d, %v", at, err)
		}
	}
	for _, f := range []*mmapfile.File{f, open(t, nil)} {
		n := 0
		for line, err := range scan.Lines(c, f) {
			if n++; line.Number != 0 || err != context.Canceled {
				t.Errorf("Lines: %+v, %v", line, err)
			}
		}
		if n != 1 {
			t.Errorf("Lines of %d bytes yields %d errors", f.Len(), n)
		}
	}
}

func TestScanner_Progress(t *testing.T) {
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
		"ForEach":   func(s scan.Scanner) error { return s.ForEach(ctx, f, func(int64, []byte) error { return nil }) },
		"Find":      func(s scan.Scanner) error { _, _, err := s.Find(ctx, f, 4, word("line")); return err },
		"Find none": func(s scan.Scanner) error { _, _, err := s.Find(ctx, f, 4, word("none")); return err },
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
