package tables

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

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
		resultstest.Sample: {
			"Geometric mean over 2 of 53 rows published for v0.1.2: 0.548 of os.File.",
			"of os.File.\nToo few rounds (2) to tell in which of 2 rows mmapfile is slower than os.File.",
			"Read/size=1KB  400 ns",
		},
		everything(): {
			"Geometric mean over 53 rows published for v0.1.2: 0.500 of os.File",
			"to tell in which of 81 rows",
		},
	} {
		var out bytes.Buffer
		if err := report(&out, resultstest.Parse(t, text)); err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, &out)
			}
		}
	}
}

func TestALostRowIsSlowerThanTheNoiseAndSignificantly(t *testing.T) {
	res := resultstest.Parse(t, resultstest.Rounds("Slow", 120, 121, 122, 123, 124)+
		resultstest.Rounds("Noise", 103, 104, 105, 106, 107)+
		resultstest.Rounds("Accident", 90, 95, 130, 131, 99)+
		resultstest.Rounds("Worse", 150, 151, 152, 153, 154)+
		resultstest.Rounds("Fast", 50, 51, 52, 53, 54))
	want := "Of 5 rows, mmapfile is faster than `os.File` beyond the noise in 1, and slower in 2: `Worse` (1.49), `Slow` (1.20)."
	if got := lostText(res, "os", 0); got != want {
		t.Errorf("%s\nwant: %s", got, want)
	}
	if got, want := verdict(res, "os", res.Rows, 0, nil), "in 1, and slower in 2."; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant: %s", got, want)
	}
	if got := lostText(res, "os", 1); !strings.HasSuffix(got, "`Worse` (1.49), and 1 more.") {
		t.Error(got)
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
	if _, err := renderCalls(resultstest.Parse(t, resultstest.Sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderCalls(resultstest.Parse(t, "note: on battery\n"+everything()))
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, block,
		"| `Stat` | 200 ns | 100 ns | 0.50 |\n",
		"| **geometric mean of 53 rows published for v0.1.2** |  |  | **0.50** |\n",
		"`make bench-full` on 2026-01-02: medians of 1 interleaved rounds",
		"ext4", "; on battery.\n",
	)
}

// A visitor of the README has a minute.
func TestRenderFirst_FiveRows(t *testing.T) {
	if _, err := renderFirst(resultstest.Parse(t, resultstest.Sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderFirst(resultstest.Parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	table, rest, _ := strings.Cut(block, "\n\n")
	if lines := strings.Split(table, "\n"); len(lines) != 2+5 || lines[2] != "| `ReadAt` 1 KiB | 200 ns | 100 ns | 0.50 |" {
		t.Errorf("not a table of five rows:\n%s", table)
	}
	if !strings.HasPrefix(rest, "Too few rounds (1)") || !strings.Contains(rest, "\n\n`make bench-full` on 2026-01-02") || strings.Contains(block, "v0.1.2") {
		t.Errorf("unexpected text:\n%s", block)
	}
}

func TestRenderPerformance(t *testing.T) {
	if _, err := renderPerformance(resultstest.Parse(t, resultstest.Sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
	block, err := renderPerformance(resultstest.Parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, block,
		"Too few rounds (1) to tell in which of 81 rows mmapfile is slower than `os.File`.\n",
		"| streams | 64 KiB through a pipe | 200 ns | – | 100 ns | 0.50 | – |\n",
		"(charts/writes.svg)\n",
		"| `ReadAt` 1 KiB | – | – | – | – | 100 ns |\n",
	)
}

// oldPages writes raw results, and pages with an old block for each of blocks, as they lie in the
// repository. It returns the file of the results, and what reads a page.
func oldPages(t *testing.T, text string, blocks ...block) (file string, page func(b block) string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "benchdata")
	if err := os.MkdirAll(filepath.Join(dir, ResultsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, ResultsDir, "raw.txt")
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

// publish writes the pages of the raw results in file, or with check fails if they are others.
func publish(file string, check bool) error {
	res, err := results.Read(file)
	if err != nil {
		return err
	}
	made, err := Pages(res, filepath.Dir(filepath.Dir(file)))
	for _, a := range made {
		err = errors.Join(err, a.Put(check))
	}
	return err
}

// putBlocks puts the blocks of the raw results into their pages: before that they are stale, afterwards not.
func putBlocks(t *testing.T, file string) {
	t.Helper()
	if err := publish(file, true); err == nil {
		t.Error("check passes for an old block")
	}
	if err := publish(file, false); err != nil {
		t.Fatal(err)
	}
	if err := publish(file, true); err != nil {
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
	resultstest.Contains(t, s,
		"before calls\n"+callsBlock.begin()+"| op", callsBlock.end()+"after calls\n",
		performanceBlock.begin()+"Too few rounds", performanceBlock.end()+"after performance\n",
		programsBlock.begin()+"old\n"+programsBlock.end(), // it is of other results
	)

	file, _ = oldPages(t, everything(), firstBlock)
	if err := publish(file, false); err == nil {
		t.Error("no error without a page")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "..", callsBlock.page), []byte("no marks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := publish(file, false); err == nil {
		t.Error("no error without the marks")
	}
}

func TestArtifact_StaleFailsTheCheck(t *testing.T) {
	a := Artifact{filepath.Join(t.TempDir(), "charts", "a.svg"), []byte("<svg/>")}
	if err := a.Put(true); err == nil {
		t.Error("check passes without the file")
	}
	if err := a.Put(false); err != nil {
		t.Fatal(err)
	}
	if err := a.Put(true); err != nil {
		t.Error(err)
	}
	a.Text = []byte("<svg></svg>")
	if err := a.Put(true); err == nil {
		t.Error("check passes for an old file")
	}
}

// Results of each kind are taken for that and for no other.
func TestKind_Each(t *testing.T) {
	for want, text := range map[results.Kind]string{
		results.Calls: resultstest.Sample, results.Peers: peersSample(), results.Needle: needleSample(), results.Events: eventsSample(),
		results.Durable: durableSample(1), results.Programs: programsSample("1"), results.Cold: coldSample(),
		results.Regret: regretSample(), results.Raft: raftSample(), results.Reread: rereadSample(),
	} {
		if got := resultstest.Parse(t, text).Kind(); got != want {
			t.Errorf("%s are taken for %s", want, got)
		}
	}
	if len(kinds) != 10 {
		t.Errorf("%d kinds", len(kinds))
	}
}

// printed is what a report prints, with a tab for each run of spaces.
func printed(t *testing.T, res *results.Set) string {
	t.Helper()
	var out bytes.Buffer
	if err := Report(&out, res); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(` {2,}`).ReplaceAllString(out.String(), "\t")
}
