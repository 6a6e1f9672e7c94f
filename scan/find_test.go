package scan_test

import (
	"bytes"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/scan"
)

// word returns a function for Find that finds w.
func word(w string) func(p []byte) (start, end int) {
	return func(p []byte) (start, end int) {
		i := bytes.Index(p, []byte(w))
		return i, i + len(w)
	}
}

// match returns a function for Find that finds what re matches.
func match(re *regexp.Regexp) func(p []byte) (start, end int) {
	return func(p []byte) (start, end int) {
		if loc := re.FindIndex(p); loc != nil {
			return loc[0], loc[1]
		}
		return -1, -1
	}
}

// A match is found wherever it is relative to the borders of pieces and windows.
func TestFind_EveryOffset(t *testing.T) {
	t.Parallel()
	const chunk, size = 1500, 4 * 1500
	finds := map[string]func(p []byte) (start, end int){
		"literal": word("needle"), "words": match(regexp.MustCompile(`\bneedle\b`)), "line": match(regexp.MustCompile(`(?m)^needle$`)),
	}
	content := bytes.Repeat([]byte("ab\n"), size/3)
	f := open(t, content)
	for at := 0; at+8 <= size; at++ {
		near := func(border int) bool { return -20 < at-border && at-border < 20 }
		if at%37 > 0 && !near(0) && !near(chunk) && !near(2*chunk-1024) && !near(2*chunk) && !near(size) {
			continue
		}
		for what, find := range finds {
			if _, err := f.WriteAt([]byte("\nneedle\n"), int64(at)); err != nil {
				t.Fatal(err)
			}
			start, end, err := scan.Scanner{Workers: 2, Chunk: chunk}.Find(ctx, f, 6, find)
			if start != int64(at)+1 || end != int64(at)+7 || err != nil {
				t.Errorf("%s at %d: %d, %d, %v", what, at+1, start, end, err)
			}
		}
		if _, err := f.WriteAt(content[at:at+8], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

// Parts start in the middle of words and runes, and a match there is false.
func TestFind_FalseMatches(t *testing.T) {
	t.Parallel()
	text := func(word string, n int, rest string) string { return strings.Repeat(word, n) + rest }
	for _, c := range []struct {
		expr, content string
		long          int
	}{
		{`\bcat`, text("concat", 2000, " cat"), 3},
		{`(?m)^cat`, text("concat", 2000, "\ncat"), 3},
		{`^cat`, text("cat", 0, "con") + text("cat", 3000, ""), 3},
		{`\Acat`, text("con", 1, "") + text("cat", 3000, ""), 3},
		{`\x{FFFD}`, text("é€", 2000, "\xff"), 3},
		{`[^é]`, text("é", 5000, "x"), 4},
		{`[^€]`, text("€", 3000, "x"), 4},
		{`cat$`, text("cat.", 2000, "cat"), 3},
		{`cat\b`, text("cats", 2000, "cat"), 3},
	} {
		content := []byte(c.content)
		wantStart, _ := match(regexp.MustCompile(c.expr))(content)
		if wantStart >= 0 && wantStart < 5000 {
			t.Fatalf("%#q matches at %d", c.expr, wantStart)
		}
		f := open(t, content)
		for chunk := 1000; chunk < 1020; chunk++ {
			for _, access := range accesses {
				checkFind(t, scan.Scanner{Workers: 2, Chunk: chunk}.With(access), f, content, c.expr, c.long, false)
			}
		}
	}
}

// No start before a piece tells whether a word starts there.
func TestFind_HiddenByFalseMatches(t *testing.T) {
	t.Parallel()
	re := match(regexp.MustCompile(`\b[a-z]`))
	var sum atomic.Int64 // bytes that are searched
	find := func(p []byte) (start, end int) {
		sum.Add(int64(len(p)))
		return re(p)
	}
	const chunk = 2000
	for _, c := range []struct {
		what       string
		change     map[int]string // in a 1 and letters
		start, end int64          // -1 if there is no match, -2 if there is an error
	}{
		{"no start is trusted", nil, -2, -2},
		{"a match before", map[int]string{1000: " a"}, 1001, 1002},
		{"a match after", map[int]string{3000: " a"}, -2, -2},
		{"the last trusted start", map[int]string{chunk - 4: "1", 2*chunk - 4: "1"}, -1, -1},
		{"starts after that", map[int]string{chunk - 3: "1", chunk - 2: "1", chunk - 1: "1", 2*chunk - 3: "1"}, -2, -2},
		{"the first trusted start", map[int]string{chunk - 1024: "1", 2*chunk - 1024: "1"}, -1, -1},
		{"a start before that", map[int]string{chunk - 1025: "1"}, -2, -2},
	} {
		content := append([]byte("1"), bytes.Repeat([]byte("a"), 5000)...)
		for at, text := range c.change {
			copy(content[at:], text)
		}
		sum.Store(0)
		start, end, err := scan.Scanner{Workers: 2, Chunk: chunk}.Find(ctx, open(t, content), 1, find)
		if pe := (*fs.PathError)(nil); c.start == -2 && (start != -1 || end != -1 || !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &pe)) ||
			c.start != -2 && (start != c.start || end != c.end || err != nil) {
			t.Errorf("%s: %d, %d, %v", c.what, start, end, err)
		}
		// Small parts tell whether a start is trusted.
		if sum.Load() > int64(len(content)+3*(1<<10)+2*(1<<10)*20) {
			t.Errorf("%s: %d bytes are searched", c.what, sum.Load())
		}
	}
}

func TestFind_LowestMatch(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte{0}, 1<<20)
	for i := 300_000; i < len(content); i += 7919 {
		content[i] = 1
	}
	f := open(t, content)
	for range 50 {
		for _, access := range accesses {
			start, end, err := scan.Scanner{Workers: 8, Chunk: 4096}.With(access).Find(ctx, f, 1, word("\x01"))
			if start != 300_000 || end != 300_001 || err != nil {
				t.Fatalf("%d, %d, %v", start, end, err)
			}
		}
	}
}

func TestFind_InvalidResults(t *testing.T) {
	t.Parallel()
	f := open(t, bytes.Repeat([]byte("ab"), 5000))
	for what, find := range map[string]func(p []byte) (start, end int){
		"end before start": func(p []byte) (start, end int) { return 1, 0 },
		"start after p":    func(p []byte) (start, end int) { return len(p) + 1, len(p) + 1 },
		"end after p":      func(p []byte) (start, end int) { return 0, len(p) + 1 },
		"negative end":     func(p []byte) (start, end int) { return 0, -1 },
		"too long":         func(p []byte) (start, end int) { return 0, 11 },
	} {
		for _, access := range accesses {
			start, end, err := scan.Scanner{Chunk: 2000}.With(access).Find(ctx, f, 10, find)
			if pe := (*fs.PathError)(nil); start != -1 || end != -1 || !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &pe) {
				t.Errorf("%s: %d, %d, %v", what, start, end, err)
			}
		}
	}
	if start, end, err := scan.Find(ctx, f, -1, word("x")); start != -1 || end != -1 || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("negative overlap: %d, %d, %v", start, end, err)
	}
	// What is negative means no match, whatever end is.
	none := func(p []byte) (start, end int) { return -3, len(p) + 3 }
	if start, end, err := scan.Find(ctx, f, 10, none); start != -1 || end != -1 || err != nil {
		t.Errorf("no match: %d, %d, %v", start, end, err)
	}
}

// A match longer than overlap is an error wherever it is, never a wrong result.
func TestFind_LongerThanOverlap(t *testing.T) {
	t.Parallel()
	const size, chunk, overlap = 6000, 1500, 10
	for _, long := range []int{overlap, overlap + 1, overlap + 4, overlap + 5, 200, 2000} {
		for at := 0; at+long <= size; at += 59 {
			content := bytes.Repeat([]byte("a"), size)
			copy(content[at:], bytes.Repeat([]byte("x"), long))
			start, end, err := scan.Scanner{Chunk: chunk}.Find(ctx, open(t, content), overlap, match(regexp.MustCompile(`x+`)))
			switch {
			case long <= overlap:
				if start != int64(at) || end != int64(at+long) || err != nil {
					t.Errorf("%d bytes at %d: %d, %d, %v", long, at, start, end, err)
				}
			case start != -1 || end != -1 || !errors.Is(err, fs.ErrInvalid):
				t.Errorf("%d bytes at %d: %d, %d, %v", long, at, start, end, err)
			}
		}
	}
}

// Of a match and an error, or of two matches, the lower one is the result, even
// if the higher one comes first.
func TestFind_LowerOfTwo(t *testing.T) {
	t.Parallel()
	const low, high, chunk = 4000, 11_000, 3000
	for _, c := range []struct {
		low, high byte // x is a match, ! is an error
		want      int64
	}{{'x', 'x', low}, {'x', '!', low}, {'!', 'x', -1}, {'!', '!', -1}} {
		content := make([]byte, 4*chunk)
		content[low], content[high] = c.low, c.high
		f := open(t, content)
		for range 20 {
			foundHigh, done := make(chan bool), int64(-1)
			s := scan.Scanner{Workers: 2, Chunk: chunk, Progress: func(n, _ int64) { done = n }}
			start, end, err := s.Find(ctx, f, 1, func(p []byte) (start, end int) {
				i := bytes.IndexAny(p, "x!")
				if i < 0 {
					return -1, -1
				}
				if len(p) >= chunk && len(p) < chunk+1024+4 { // piece 3, to which nothing is added at the end
					close(foundHigh)
				} else if len(p) >= chunk {
					<-foundHigh
				}
				if p[i] == '!' {
					return i, i - 1
				}
				return i, i + 1
			})
			if start != c.want || c.want >= 0 && (end != start+1 || err != nil || done != int64(len(content))) || c.want < 0 && !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%c and %c: %d, %d, %v, progress ended at %d", c.low, c.high, start, end, err, done)
			}
		}
	}
}

func TestFind_EmptyFile(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		s := scan.Scanner{}.With(access)
		if start, end, err := s.Find(ctx, open(t, nil), 3, word("")); start != 0 || end != 0 || err != nil {
			t.Errorf("access %v: an empty match: %d, %d, %v", access, start, end, err)
		}
		if start, end, err := s.Find(ctx, open(t, nil), 3, word("x")); start != -1 || end != -1 || err != nil {
			t.Errorf("access %v: no match: %d, %d, %v", access, start, end, err)
		}
	}
}

func TestFind_LongOverlap(t *testing.T) {
	t.Parallel()
	content := append(bytes.Repeat([]byte("ab"), 300_000), "needle"...)
	f := open(t, content)
	for _, access := range accesses {
		for _, overlap := range []int{6, 70_000, 200_000, 600_005, 600_006, 600_007, 5_000_000} {
			s := scan.Scanner{}.With(access)
			if start, end, err := s.Find(ctx, f, overlap, word("needle")); start != 600_000 || end != 600_006 || err != nil {
				t.Errorf("access %v, overlap %d: %d, %d, %v", access, overlap, start, end, err)
			}
		}
	}
}

func TestFind_Panic(t *testing.T) {
	t.Parallel()
	f := open(t, make([]byte, 1<<20))
	for _, access := range accesses {
		for _, workers := range []int{1, 4} {
			func() {
				defer func() {
					if r := recover(); r != "mine" {
						t.Errorf("recovered %v", r)
					}
				}()
				scan.Scanner{Workers: workers, Chunk: 4096}.With(access).Find(ctx, f, 1, func([]byte) (int, int) { panic("mine") })
				t.Error("no panic")
			}()
		}
	}
}

func TestFind_TruncatedOrClosed(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		for what, c := range shortened {
			f := open(t, make([]byte, 2<<20))
			calls := 0
			start, end, err := scan.Scanner{Workers: 1, Chunk: 64 << 10}.With(access).Find(ctx, f, 1, func(p []byte) (int, int) {
				if calls++; calls == 5 { // two for each piece but the first
					if err := c.do(f); err != nil {
						t.Error(err)
					}
				}
				i := bytes.IndexByte(p, 'x') // may be a page fault
				return i, i + 1
			})
			if pe := (*fs.PathError)(nil); start != -1 || end != -1 || !errors.Is(err, c.want) || !errors.As(err, &pe) || calls > 5 {
				t.Errorf("%s, access %v: %d, %d, %v after %d calls", what, access, start, end, err, calls)
			}
		}
	}
}

// find gets no more than its part, and parts cover the content.
func TestFind_Parts(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789"), 1000)
	var sum atomic.Int64
	start, end, err := scan.Scanner{Workers: 3, Chunk: 3000}.Find(ctx, open(t, content), 7, func(p []byte) (int, int) {
		if cap(p) != len(p) || !bytes.Contains(content, p) {
			t.Errorf("a part of %d bytes with a capacity of %d", len(p), cap(p))
		}
		sum.Add(int64(len(p)))
		return -1, -1
	})
	// Each of the later pieces has 1 KiB before, and a call for the first 15 bytes of that.
	const pieces, after = 4, 7 + 3
	if want := int64(len(content) + (pieces-1)*(after+1024+15)); start != -1 || end != -1 || err != nil || sum.Load() != want {
		t.Errorf("%d, %d, %v after %d bytes, want %d", start, end, err, sum.Load(), want)
	}
}
