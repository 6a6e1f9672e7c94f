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
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// coldSample is a run in which mmapfile takes half of os.File's time, but for one row, which takes twice as
// long, and a mapping ten times as long.
func coldSample() string {
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nreadahead: 8192 KiB\n")
	for round := range 10 {
		for _, r := range cold.Rows() {
			for _, figure := range append([]string{""}, r.Figures...)[min(len(r.Figures), 1):] {
				for _, impl := range r.Impls {
					ns := map[string]int{"os": 1000, "mmapfile": 500, "os-again": 1010, "mapping": 10_000}[impl]
					if r.Key == "life/reads=64" && impl == "mmapfile" {
						ns = 2000
					}
					fmt.Fprintf(&b, "Benchmark%s/impl=%s-2\t1\t%d ns/op\n", results.ColdRow(r.Key, figure), impl, ns+round)
				}
			}
		}
	}
	return b.String()
}

func coldPage(t *testing.T, text string) (string, error) {
	t.Helper()
	made, err := coldPages(resultstest.Parse(t, text), "")
	return string(made[0].Text), err
}

func TestCold_Page(t *testing.T) {
	page, err := coldPage(t, coldSample())
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, page,
		"reads ahead 8192 KiB", "| `Read` 4 KiB | 1 µs | 504 ns | 0.50 | 1.01 |\n", "device that reads 128 KiB ahead | 1 µs | 504 ns | 0.50 | 1.01 |\n",
		"| **2.00** | 1.01 |\n", "| goroutines: 4, 99th percentile | 1 µs | 504 ns | 10 µs | 0.50 | 1.01 |\n",
		"| `View`, against `ReadAt`, maximum | 1 µs | 504 ns | – | 0.50 | – |\n", "charts/memory.svg", "is not counted",
	)
	if n := strings.Count(page, "medians of 10 interleaved rounds"); n != 1 || !strings.HasSuffix(page, ".\n") {
		t.Errorf("it says %d times how it was measured:\n%s", n, page)
	}
	lines := 0
	for _, r := range cold.Rows() {
		lines += max(len(r.Figures), 1)
	}
	if n := strings.Count(page, "\n| ") - len(cold.Sections()); n != lines {
		t.Errorf("the page has %d lines of %d", n, lines)
	}
	var out bytes.Buffer
	if err := Report(&out, resultstest.Parse(t, coldSample())); err != nil || strings.Count(out.String(), "mmapfile / os.File") != len(cold.Sections()) {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

// A file may have several runs. What is compared is of one of them.
func TestCold_TwoRuns(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^.*Cold/(life|tmpfs)/.*\n`)
	later := "date: 2026-02-03T03:04:05Z\n" + strings.Join(rows.FindAllString(coldSample(), -1), "")
	later = strings.ReplaceAll(later, "1010 ns", "4000 ns")
	page, err := coldPage(t, rows.ReplaceAllString(coldSample(), "")+later)
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, page, "on 2026-01-02", "on 2026-02-03", "| `Read` 4 KiB | 1 µs | 504 ns | 0.50 | 1.01 |\n")
}

func TestCold_Missing(t *testing.T) {
	text := regexp.MustCompile(`(?m)^.*/device=loop/.*\n`).ReplaceAllString(coldSample(), "")
	if _, err := coldPage(t, text); err == nil {
		t.Error("a run without the loop device is published")
	}
	page, err := coldPage(t, "missing-loop: no losetup\n"+text)
	if err != nil || !strings.Contains(page, "Rows were not measured: no losetup.\n") {
		t.Errorf("%v in\n%s", err, page)
	}
	text = regexp.MustCompile(`(?m)^.*Cold/(ticker|larger|sweep).*\n`).ReplaceAllString(coldSample(), "")
	if page, err := coldPage(t, "missing-group: no cgroup\n"+text); err != nil || !strings.Contains(page, "no cgroup") || strings.Contains(page, "A ticker") {
		t.Errorf("%v in\n%s", err, page)
	}
}

func TestCold_Published(t *testing.T) {
	file, page := oldPages(t, coldSample(), onceBlock)
	putBlocks(t, file)
	text := page(onceBlock)
	if n := strings.Count(text, "| 0.50 |\n") + strings.Count(text, "| 2.00 |\n") + strings.Count(text, "| **2.00** |\n"); n != len(onceRows) {
		t.Errorf("%d of %d rows in\n%s", n, len(onceRows), text)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "..", "cold.md")); err != nil {
		t.Error(err)
	}
}
