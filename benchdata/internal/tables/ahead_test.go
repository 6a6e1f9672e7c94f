package tables

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// aheadSample is a run in which mmapfile takes half of os.File's time, but for one row, which takes twice as long.
func aheadSample() string {
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nreadahead: 8192 KiB\n")
	for round := range 10 {
		for _, c := range cold.Cases() {
			for impl, ns := range map[string]int{"os": 1000, "mmapfile": 500, "os-again": 1010} {
				if c.Key == "life/reads=64" && impl == "mmapfile" {
					ns = 2000
				}
				fmt.Fprintf(&b, "BenchmarkAhead/%s/impl=%s-2\t1\t%d ns/op\t0 majfaults\n", c.Key, impl, ns+round)
			}
		}
	}
	return b.String()
}

func TestAhead_Page(t *testing.T) {
	res := resultstest.Parse(t, aheadSample())
	page, err := renderAhead(res)
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, page,
		"reads ahead 8192 KiB", "| `Read` 4 KiB | 1 µs | 504 ns | 0.50 | 1.01 |\n", "device that reads 128 KiB ahead | 1 µs | 504 ns | 0.50 | 1.01 |\n",
		"| **2.00** | 1.01 |\n", "medians of 10 interleaved rounds", "is not counted",
	)
	var out bytes.Buffer
	if err := reportAhead(&out, res); err != nil || strings.Count(out.String(), "mmapfile / os.File") != len(aheadParts) {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

func TestAhead_Missing(t *testing.T) {
	text := regexp.MustCompile(`(?m)^.*/device=loop/.*\n`).ReplaceAllString(aheadSample(), "")
	if _, err := renderAhead(resultstest.Parse(t, text)); err == nil {
		t.Error("a run without the loop device is published")
	}
	page, err := renderAhead(resultstest.Parse(t, "missing-loop: no losetup\n"+text))
	if err != nil || !strings.Contains(page, "Rows were not measured: no losetup.\n") {
		t.Errorf("%v in\n%s", err, page)
	}
}

func TestAhead_Published(t *testing.T) {
	file, page := oldPages(t, aheadSample(), aheadBlock)
	putBlocks(t, file)
	text := page(aheadBlock)
	if n := strings.Count(text, "| 0.50 |\n") + strings.Count(text, "| 2.00 |\n"); n != len(aheadPaysRows) {
		t.Errorf("%d of %d rows in\n%s", n, len(aheadPaysRows), text)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "..", "ahead.md")); err != nil {
		t.Error(err)
	}
}

// Each case is in a part of the page, and has a row of its own.
func TestAhead_Cases(t *testing.T) {
	keys := map[string]bool{}
	for _, c := range cold.Cases() {
		if keys[c.Key] || strings.Contains(c.Key, "/way=") || strings.Contains(c.Key, "/impl=") {
			t.Errorf("key %s", c.Key)
		}
		keys[c.Key] = true
	}
	n := 0
	for _, part := range aheadParts {
		g := aheadGrid(resultstest.Parse(t, aheadSample()), part.part)
		n += len(g) - 1
	}
	if n != len(keys) {
		t.Errorf("the page has %d of %d rows", n, len(keys))
	}
}
