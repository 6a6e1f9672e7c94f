package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is what a run prints: three rounds of two rows.
const sample = `date: 2026-01-02T03:04:05Z
kernel: Linux 6.18
fs: ext4
go: go1.26.8
cores: 2
cpu: EPYC
BenchmarkRead/size=1KB/impl=os-2         	  10	 400 ns/op	 1.5 MB/s
BenchmarkRead/size=1KB/impl=mmapfile-2   	  10	 100 ns/op
BenchmarkRead/size=1KB/impl=os-again-2   	  10	 440 ns/op
BenchmarkStat/impl=os-2                  	  10	 300 ns/op
BenchmarkStat/impl=mmapfile-2            	  10	 300 ns/op
BenchmarkRead/size=1KB/impl=os-2         	  10	 900 ns/op
BenchmarkRead/size=1KB/impl=mmapfile-2   	  10	 110 ns/op
BenchmarkRead/size=1KB/impl=os-again-2   	  10	 440 ns/op
BenchmarkStat/impl=os-2                  	  10	 200 ns/op
BenchmarkStat/impl=mmapfile-2            	  10	 300 ns/op
BenchmarkRead/size=1KB/impl=os-2         	  10	 300 ns/op
BenchmarkRead/size=1KB/impl=mmapfile-2   	  10	  90 ns/op
BenchmarkRead/size=1KB/impl=os-again-2   	  10	 440 ns/op
`

func parse(t *testing.T, text string) *results {
	t.Helper()
	file := filepath.Join(t.TempDir(), "raw.txt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := readResults(file)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Abs(b) }

func TestResults(t *testing.T) {
	res := parse(t, sample)
	if want := []string{"Read/size=1KB", "Stat"}; !slices.Equal(res.rows, want) {
		t.Errorf("rows %q, want %q", res.rows, want)
	}
	if got := res.config["fs"]; got != "ext4" {
		t.Errorf("fs %q", got)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"odd number", res.median("Read/size=1KB", "os"), 400e-9},
		{"even number", res.median("Stat", "os"), 250e-9},
		{"none", res.median("Stat", "exp"), 0},
		{"ratio", res.ratio("Read/size=1KB", "mmapfile", "os"), 0.25},
		{"ratio to none", res.ratio("Stat", "mmapfile", "copy"), 0},
		{"noise", res.noise("Read/size=1KB"), math.Log(1.1)},
		{"noise of a row that has none", res.noise("Stat"), math.Log(1.1)},
	} {
		if c.got != c.want && !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if n := res.rounds(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
	// The geometric mean of 1/4 and 6/5; rows that were not measured do not count.
	mean, n := res.geomean(published(), "os")
	if want := math.Sqrt(0.25 * 1.2); n != 2 || !near(mean, want) {
		t.Errorf("geometric mean of %d rows is %v, want %v", n, mean, want)
	}
}

func TestNoResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "raw.txt")
	if err := os.WriteFile(file, []byte("cpu: EPYC\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(file); err == nil {
		t.Error("no error for a file without results")
	}
}

func TestPublished(t *testing.T) {
	rows := published()
	if len(rows) != 6*8+5 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range []string{"ReadAtParallel/size=500MB", "Close"} {
		if !slices.Contains(rows, row) {
			t.Errorf("%s is missing", row)
		}
	}
}

func TestReport(t *testing.T) {
	for text, wanted := range map[string][]string{
		sample: {
			"Geometric mean over 2 of 53 rows published for v0.1.2: 0.548 of os.File.",
			"of os.File.\nToo few rounds (2) to tell which of 2 rows are slower than with os.File.",
			"Read/size=1KB  400 ns",
		},
		everything(): {
			"geometric mean / os, published rows", "ReadRecord/size=1KB / os", "FAILS",
			"to tell which of 81 rows are slower",
		},
	} {
		var out bytes.Buffer
		if err := report(&out, parse(t, text)); err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, &out)
			}
		}
	}
}

// rounds is a run of a row in which os.File takes 100 ns, and once more 104, and mmapfile what is given.
func rounds(row string, mmapfile ...float64) string {
	text := ""
	for i, ns := range mmapfile {
		text += fmt.Sprintf("Benchmark%s/impl=os-2 1 %d ns/op\nBenchmark%[1]s/impl=mmapfile-2 1 %[3]v ns/op\n"+
			"Benchmark%[1]s/impl=os-again-2 1 %[4]d ns/op\n", row, 100+i, ns, 104+i)
	}
	return text
}

func TestALostRowIsSlowerThanTheNoiseAndSignificantly(t *testing.T) {
	res := parse(t, rounds("Slow", 120, 121, 122, 123, 124)+
		rounds("Noise", 103, 104, 105, 106, 107)+
		rounds("Accident", 90, 95, 130, 131, 99)+
		rounds("Worse", 150, 151, 152, 153, 154)+
		rounds("Fast", 50, 51, 52, 53, 54))
	want := "Of 5 rows, 2 are slower than with `os.File` beyond the noise: `Worse` (1.49), `Slow` (1.20)."
	if got := lostText(res, "os", 0); got != want {
		t.Errorf("%s\nwant: %s", got, want)
	}
	if got := lostText(res, "os", 1); !strings.HasSuffix(got, "`Worse` (1.49), and 1 more.") {
		t.Error(got)
	}
}

func TestNumbers(t *testing.T) {
	for sec, want := range map[float64]string{
		0: "–", 2.514e-9: "2.51 ns", 435.4e-9: "435 ns", 999.7e-9: "1 µs", 18.24e-6: "18.2 µs",
		0.25: "250 ms", 1.234: "1.23s",
	} {
		if got := duration(sec); got != want {
			t.Errorf("duration(%v) = %q, want %q", sec, got, want)
		}
	}
	for v, want := range map[float64]string{0: "–", 0.0667: "0.067", 0.2549: "0.25", 1: "1.00"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// everything is a run in which mmapfile needs half of os.File's time in each row.
func everything() string {
	rows := published()
	for _, list := range [][]named{callRows, mappingRows} {
		for _, r := range list {
			if !slices.Contains(rows, r.row) {
				rows = append(rows, r.row)
			}
		}
	}
	for _, r := range reasonRows {
		for _, row := range r.rows {
			if !slices.Contains(rows, row.row) {
				rows = append(rows, row.row)
			}
		}
	}
	text := "date: 2026-01-02T03:04:05Z\nfs: ext4\n"
	for _, row := range rows {
		text += fmt.Sprintf("Benchmark%s/impl=os-2 1 200 ns/op\nBenchmark%[1]s/impl=mmapfile-2 1 100 ns/op\n", row)
	}
	return text
}

func TestRenderCalls(t *testing.T) {
	if _, err := renderCalls(parse(t, sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderCalls(parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `Stat` | 200 ns | 100 ns | 0.50 |\n",
		"| **geometric mean of 53 rows published for v0.1.2** | | | **0.50** |\n",
		"`make bench-full` on 2026-01-02: medians of 1 interleaved rounds",
		"ext4",
	} {
		if !strings.Contains(block, want) {
			t.Errorf("%q is missing in\n%s", want, block)
		}
	}
}

// A visitor of the README has a minute.
func TestRenderFirst_FiveRows(t *testing.T) {
	if _, err := renderFirst(parse(t, sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderFirst(parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	table, rest, _ := strings.Cut(block, "\n\n")
	if lines := strings.Split(table, "\n"); len(lines) != 2+5 || lines[2] != "| `ReadAt` 1 KiB | 200 ns | 100 ns | 0.50 |" {
		t.Errorf("not a table of five rows:\n%s", table)
	}
	if !strings.HasPrefix(rest, "`make bench-full` on 2026-01-02") || strings.Contains(block, "v0.1.2") {
		t.Errorf("unexpected text:\n%s", block)
	}
}

func TestRenderPredecessor_HasItsColumn(t *testing.T) {
	page := string(renderPredecessor(parse(t, everything()+"BenchmarkStat/impl=v0.1.2-2 1 50 ns/op\n")).text)
	for _, want := range []string{"ends the process with a fault", "| `Stat` | 200 ns | 50 ns | 100 ns | 0.50 | 2.00 |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
}

func TestRenderPerformance(t *testing.T) {
	if _, err := renderPerformance(parse(t, sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderPerformance(parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Too few rounds (1) to tell which of 81 rows are slower than with `os.File`.\n",
		"| streams | 64 KiB through a pipe | 200 ns | – | 100 ns | 0.50 | – |\n",
		"(charts/writes.svg)\n",
		"| `ReadAt` 1 KiB | – | – | – | – | 100 ns |\n",
	} {
		if !strings.Contains(block, want) {
			t.Errorf("%q is missing in\n%s", want, block)
		}
	}
}

// oldPages writes raw results, and pages with an old block for each of blocks, as they lie in the
// repository. It returns the file of the results, and what reads a page.
func oldPages(t *testing.T, text string, blocks ...block) (file string, page func(b block) string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "benchdata")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "raw.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(file, text)
	pages := map[string]string{}
	for _, b := range blocks {
		pages[b.page] += "before " + b.name + "\n" + b.begin() + "old\n" + b.end() + "after " + b.name + "\n"
	}
	for name, text := range pages {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(path, text)
	}
	return file, func(b block) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, b.page))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// putBlocks puts the blocks of the raw results into their pages: before that they are stale, afterwards not.
func putBlocks(t *testing.T, file string) {
	t.Helper()
	res, err := readResults(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := readme(res, file, true); err == nil {
		t.Error("check passes for an old block")
	}
	if err := readme(res, file, false); err != nil {
		t.Fatal(err)
	}
	if err := readme(res, file, true); err != nil {
		t.Error("check after readme:", err)
	}
}

func TestReadme(t *testing.T) {
	file, page := oldPages(t, everything(), firstBlock, callsBlock, performanceBlock, programsBlock, paysBlock)
	putBlocks(t, file)
	if s := page(firstBlock); !strings.HasPrefix(s, "before bench\n"+firstBlock.begin()+"| op") ||
		!strings.HasSuffix(s, ".\n"+firstBlock.end()+"after bench\n") {
		t.Errorf("unexpected text:\n%s", s)
	}
	s := page(callsBlock)
	for _, want := range []string{
		"before calls\n" + callsBlock.begin() + "| op", callsBlock.end() + "after calls\n",
		performanceBlock.begin() + "Too few rounds", performanceBlock.end() + "after performance\n",
		programsBlock.begin() + "old\n" + programsBlock.end(), // it is of other results
	} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}

	file, _ = oldPages(t, everything(), firstBlock)
	if err := publish(t.Context(), file, false); err == nil {
		t.Error("no error without a page")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), callsBlock.page), []byte("no marks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := publish(t.Context(), file, false); err == nil {
		t.Error("no error without the marks")
	}
}

func TestCopyResults(t *testing.T) {
	out := "goos: linux\ncpu: EPYC\nBenchmarkA/impl=os-2   \t  10\t 1 ns/op\n" +
		"BenchmarkB\t--- FAIL: BenchmarkB\n    b.go:1: broken\nPASS\n"
	for round, want := range map[int]string{
		1: "goos: linux\ncpu: EPYC\nBenchmarkA/impl=os-2   \t  10\t 1 ns/op\n",
		2: "BenchmarkA/impl=os-2   \t  10\t 1 ns/op\n",
	} {
		var raw, shown bytes.Buffer
		p := &progress{w: &shown, round: round, rounds: 2}
		other, err := copyResults(&raw, strings.NewReader(out), p)
		if err != nil {
			t.Fatal(err)
		}
		if raw.String() != want {
			t.Errorf("round %d: raw results %q, want %q", round, raw.String(), want)
		}
		if !strings.Contains(other, "b.go:1: broken") {
			t.Errorf("round %d: %q does not say what failed", round, other)
		}
		if !strings.HasPrefix(shown.String(), fmt.Sprintf("round %d of 2", round)) {
			t.Errorf("round %d: progress %q", round, shown.String())
		}
	}
}
