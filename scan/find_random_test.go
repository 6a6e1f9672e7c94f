package scan_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// patterns are regular expressions whose matches are at most long bytes.
var patterns = []struct {
	expr string
	long int
}{
	{`xy`, 2}, {`x|yx`, 2}, {`x.?y`, 6}, {`[xy]{2,5}`, 5}, {`[xy]{2,5}?`, 5}, {`x{1,3}?y`, 4}, {`(?:xyz|xy|x)`, 3}, {`(?:x|xy|xyz)`, 3},
	{`\bxy`, 2}, {`xy\b`, 2}, {`\bx{1,4}\b`, 4}, {`\Bxy`, 2}, {`xy\B`, 2}, {`\b[xy]`, 1}, {`\b[xyz]{1,6}\b`, 6},
	{`^xy`, 2}, {`xy$`, 2}, {`\Axy`, 2}, {`xy\z`, 2}, {`(?m)^xy`, 2}, {`(?m)xy$`, 2}, {`(?m)^[xy]{1,9}$`, 9}, {`(?m)^.{1,3}$`, 12}, {`(?m)^$`, 0},
	{`[^ab\n]{2}`, 8}, {`[^é]`, 4}, {`[^€]x`, 5}, {`\x{FFFD}x`, 4}, {`\x{FFFD}{1,4}`, 12}, {`é|€x`, 4}, {`.é.`, 10}, {`(?s).é.`, 10}, {`(?i)XY`, 2},
	{`\z`, 0}, {`$`, 0}, {`\A`, 0}, {`x?`, 1}, {`^a`, 1}, {`\b\w\b`, 1}, {`\b`, 0}, {`\B`, 0}, {`z\A`, 1}, {`x[ab]{0,30}y`, 32}, {`y[^z]{0,40}?z`, 162},
}

// checkFind compares Find with a search in content by the same function. If the
// function may see a false match at each of 1 KiB starts, an error is right, too.
func checkFind(t testing.TB, s scan.Scanner, f *mmapfile.File, content []byte, expr string, long int, hides bool) {
	t.Helper()
	find := match(regexp.MustCompile(expr))
	wantStart, wantEnd := find(content)
	start, end, err := s.Find(ctx, f, long, find)
	if hides && errors.Is(err, fs.ErrInvalid) && strings.Contains(err.Error(), "wherever a part starts") {
		return
	}
	if start != int64(wantStart) || end != int64(wantEnd) || err != nil {
		t.Fatalf("Find of %#q in %d bytes, overlap %d, %+v: %d, %d, %v; want %d, %d", expr, len(content), long, s, start, end, err, wantStart, wantEnd)
	}
}

func TestFind_RandomContents(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	rounds, sizes := 300, []int{0, 1, 2, 7, 100, 1500, 3000, 5000, 20_000}
	switch {
	case runtime.GOARCH == "wasm" || testing.Short() && runtime.GOOS == "windows":
		rounds, sizes = 20, sizes[:8]
	case testing.Short():
		rounds = 100
	}
	fillers := []string{"a", "ab", "ab\n", "é", "aé€ ", "a\xff", "\xa9\xe2 a"}
	needles := []string{"x", "y", "z", "xy", "xyz", "xxxxy", "\nxy", " xy ", "xy\n", "é", "€x", "\xc3", "\xe2\x82", "\xff", " ", "\n", "\n\n", "xabababy", "yaaaaz"}
	for range rounds {
		size := sizes[rnd.IntN(len(sizes))]
		chunk := []int{1, 3, 64, 100, 1000, 1023, 1025, 4096, 0}[rnd.IntN(9)]
		if size/max(chunk, 1) > 200 {
			chunk = 200 + rnd.IntN(1000)
		}
		filler := fillers[rnd.IntN(len(fillers))]
		var content []byte
		for len(content) < size {
			if rnd.IntN(2) == 0 { // whole letters of the filler, and parts of them
				i := rnd.IntN(len(filler))
				content = append(content, filler[i:i+1+rnd.IntN(len(filler)-i)]...)
			} else {
				content = append(content, filler...)
			}
		}
		content = content[:size]
		for range rnd.IntN(4) {
			at := rnd.IntN(size + 1)
			if chunk > 0 && rnd.IntN(2) == 0 { // near the start of a piece, or of its window
				at = at/chunk*chunk - rnd.IntN(12) + 6 - rnd.IntN(2)*1024
			}
			if at >= 0 && at < size {
				copy(content[at:], needles[rnd.IntN(len(needles))])
			}
		}
		s := scan.Scanner{Workers: rnd.IntN(5), Chunk: chunk}.With(accesses[rnd.IntN(3)])
		f := open(t, content)
		for range 8 {
			p := patterns[rnd.IntN(len(patterns))]
			hides := strings.Contains(p.expr, `\b`) || strings.Contains(p.expr, `^`) || strings.Contains(p.expr, `\A`)
			long := p.long + rnd.IntN(3)*rnd.IntN(50)
			checkFind(t, s, f, content, p.expr, long, hides)
			checkRegexp(t, s, f, content, p.expr, long)
		}
		f.Close()
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree"), uint8(1), uint16(300), uint8(2))
	f.Add([]byte("xxxy\n\xc3\xa9xy"), uint8(8), uint16(1030), uint8(0))
	f.Fuzz(func(t *testing.T, content []byte, pattern uint8, before uint16, how uint8) {
		if len(content) > 10_000 {
			t.Skip("it would take long")
		}
		p := patterns[int(pattern)%len(patterns)]
		content = append(bytes.Repeat([]byte("ab\n"), int(before)/3), content...)
		s := scan.Scanner{Workers: int(how % 4), Chunk: 100 + int(how)}.With(accesses[how/4%3])
		file := open(t, content)
		checkFind(t, s, file, content, p.expr, p.long, true)
		checkRegexp(t, s, file, content, p.expr, p.long)
	})
}
