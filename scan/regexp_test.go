package scan_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// checkRegexp compares Regexp with a search in content.
func checkRegexp(t testing.TB, s scan.Scanner, f *mmapfile.File, content []byte, expr string, long int) {
	t.Helper()
	re := regexp.MustCompile(expr)
	wantStart, wantEnd := match(re)(content)
	start, end, err := s.Regexp(ctx, f, re, long)
	if start != int64(wantStart) || end != int64(wantEnd) || err != nil {
		t.Fatalf("Regexp of %#q in %d bytes, maxLen %d, %+v: %d, %d, %v; want %d, %d", expr, len(content), long, s, start, end, err, wantStart, wantEnd)
	}
}

// A match is found wherever it is relative to the borders of pieces.
func TestRegexp_EveryOffset(t *testing.T) {
	t.Parallel()
	const chunk, size = 1500, 4 * 1500
	content := bytes.Repeat([]byte("ab\n"), size/3)
	f := open(t, content)
	for at := 0; at+8 <= size; at++ {
		near := func(border int) bool { return -20 < at-border && at-border < 20 }
		if at%37 > 0 && !near(0) && !near(chunk) && !near(2*chunk) && !near(size) {
			continue
		}
		for _, expr := range []string{`needle`, `\bneedle\b`, `(?m)^needle$`, `\w{6}`, `n.{4}e`} {
			now := bytes.Clone(content)
			copy(now[at:], "\nneedle\n")
			if _, err := f.WriteAt(now[at:at+8], int64(at)); err != nil {
				t.Fatal(err)
			}
			checkRegexp(t, scan.Scanner{Workers: 2, Chunk: chunk}, f, now, expr, 6)
		}
		if _, err := f.WriteAt(content[at:at+8], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

// The start of a window is none of a line, a word or a text, however long these are.
func TestRegexp_LongWordsAndLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, expr string }{
		{"1" + strings.Repeat("a", 9000), `\b[a-z]`},
		{"1" + strings.Repeat("a", 9000) + " b", `\b[a-z]`},
		{"1" + strings.Repeat("a", 9000) + " b", `\b[a-z]{1,5}`},
		{"-" + strings.Repeat("a", 9000) + "\nb", `(?m)^\w`},
		{"-" + strings.Repeat("a", 9000) + "\n" + strings.Repeat("c", 50), `(?m)^\w{1,50}`},
		{"-" + strings.Repeat("é", 4500) + "\nö", `(?m)^\pL`},
		{"-" + strings.Repeat("€", 3000) + "b", `[^-€]`},
		{"-" + strings.Repeat("a", 9000), `^a`},
		{"-" + strings.Repeat("a", 9000), `\Aa|a\z`},
		{"\n-" + strings.Repeat("aé", 3000) + "--\n\n", `(?m)^$`},
		{"a" + strings.Repeat("a", 9000) + " a", `\Ba\b`},
		{strings.Repeat(" ", 9000) + "a", `\B.\b`},
		{strings.Repeat("ab", 4000) + "a b", `\b(?:b|bab|ba)`}, // false ones hide each other
		{strings.Repeat("ab", 4000) + "x", `(?m)^(?:ab){1,3}x|bx`},
		{strings.Repeat("\xa9", 5000) + "a", `(?m)^a|[^\x{FFFD}]`},
		{strings.Repeat("\xe2\x82", 3000) + "\xac", `\x{20AC}`},
		{strings.Repeat("a", 5000), `\z`},
	} {
		content := []byte(c.content)
		f := open(t, content)
		for _, chunk := range []int{1, 3, 100, 1000, 1001, 1002, 1003, 4096, 0} {
			if len(content)/max(chunk, 1) > 100 && chunk > 0 {
				content := content[len(content)-100:] // many pieces take long
				checkRegexp(t, scan.Scanner{Workers: 2, Chunk: chunk}, open(t, content), content, c.expr, 60)
				continue
			}
			for _, access := range accesses {
				checkRegexp(t, scan.Scanner{Workers: 2, Chunk: chunk}.With(access), f, content, c.expr, 60)
			}
		}
	}
}

// After a false match some bytes are searched in another way, up to the end of a span.
func TestRegexp_Spans(t *testing.T) {
	t.Parallel()
	const chunk, span = 9000, 1024
	repeat := func(s string) []byte { return bytes.Repeat([]byte(s), 2*chunk/len(s)) }
	for _, end := range []int{chunk, chunk + span, chunk + 3*span} {
		for at := end - 12; at < end+12; at++ {
			content := append([]byte("1"), repeat("a")...)
			copy(content[at:], " bcccccc")
			f := open(t, content)
			// The last two have no match: a letter follows.
			for _, expr := range []string{`\b[a-z]{1,7}`, `\b[a-z]{7}`, `(?s)\b.{3}`, `\ba|\b[a-z]{7}\b`, `\ba|\b[a-z]{7}$`} {
				checkRegexp(t, scan.Scanner{Workers: 1, Chunk: chunk}, f, content, expr, 7)
			}
		}
	}
	for _, letter := range []string{"é", "€", "\U0001F600"} {
		content := append([]byte("-"), repeat(letter)...)
		f := open(t, content)
		for i := range 4 {
			checkRegexp(t, scan.Scanner{Workers: 1, Chunk: chunk + i}, f, content, `[^-`+letter+`]|(?m)^`+letter, 4)
			checkRegexp(t, scan.Scanner{Workers: 1, Chunk: chunk}, f, content, `[^-`+letter+`]|(?m)^`+letter, span+i)
		}
	}
}

func TestRegexp_Invalid(t *testing.T) {
	t.Parallel()
	content := append(bytes.Repeat([]byte("ab\n"), 2000), "xxxxxxxxxxx"...)
	f := open(t, content)
	for _, c := range []struct {
		expr string
		long int
	}{{`x+`, 10}, {`b`, -1}, {`(?m)^x+`, 10}} {
		for _, access := range accesses {
			start, end, err := scan.Scanner{Chunk: 2000}.With(access).Regexp(ctx, f, regexp.MustCompile(c.expr), c.long)
			if pe := (*fs.PathError)(nil); start != -1 || end != -1 || !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &pe) {
				t.Errorf("%#q, maxLen %d: %d, %d, %v", c.expr, c.long, start, end, err)
			}
		}
	}
	checkRegexp(t, scan.Scanner{Chunk: 2000}, f, content, `x+`, 11)
	if _, _, err := scan.Regexp(ctx, nil, regexp.MustCompile(`x`), 1); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("no file: %v", err)
	}
}

// Everything that an expression may contain keeps its meaning.
func TestRegexp_Syntax(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("ab AB\n", 1000) + "X[y]x(z)Q")
	f := open(t, content)
	for _, expr := range []string{`\Q[y]`, `(?i)X\[Y`, `(?i:x)(\(z\))`, `(?P<name>y)|(z)`, `x|Q`, `(?U)[QX]{1,3}`, `\bX|Q`, `(?-i)Q`, `\by\B|\bQ$`, ``} {
		checkRegexp(t, scan.Scanner{Chunk: 700}, f, content, expr, 7)
	}
}
