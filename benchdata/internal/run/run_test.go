package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// TestMain does the work of Cold, whose processes are the command again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == cold.Command {
		if err := cold.Run(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestCold_SmallRun(t *testing.T) {
	if pagecache.Missing != "" {
		t.Skip(pagecache.Missing)
	}
	dir := t.TempDir()
	res, err := Cold(t.Context(), []string{"-dir", dir, "-out", filepath.Join(dir, "cold.txt"), "-rounds", "3", "-benchtime", "1ms", "-row", "^(life|tmpfs.*size=1MB)"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Kind() != results.Cold || res.Rounds() != 3 {
		t.Errorf("%d rounds of %s", res.Rounds(), res.Kind())
	}
	raw, err := os.ReadFile(res.File)
	if err != nil {
		t.Fatal(err)
	}
	checkTurns(t, raw, "Cold/life/reads=0/")
	for _, key := range []string{"life/reads=0", "life/reads=1000", "tmpfs/read=64B/size=1MB"} {
		if row := results.ColdRow(key, ""); res.Median(row, "mmapfile") == 0 && res.Config["missing-tmpfs"] == "" {
			t.Errorf("%s was not measured", row)
		}
	}
	if _, err := Cold(t.Context(), []string{"-dir", dir, "-out", filepath.Join(dir, "none.txt"), "-row", "^none"}); err == nil {
		t.Error("no error without a row")
	}
}

func TestCopyResults(t *testing.T) {
	out := "goos: linux\ncpu: EPYC\nBenchmarkA/impl=os-2   \t  10\t 1 ns/op\t 5.00 MB/s\t  3 warm-calls\n" +
		"BenchmarkB\t--- FAIL: BenchmarkB\n    b.go:1: broken\nPASS\n"
	for round, want := range map[int]string{
		1: "goos: linux\ncpu: EPYC\nBenchmarkA/impl=os-2\t10\t1 ns/op\t3 warm-calls\n",
		2: "BenchmarkA/impl=os-2\t10\t1 ns/op\t3 warm-calls\n",
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

func TestCrateVersion(t *testing.T) {
	lock, err := os.ReadFile(filepath.Join("..", "..", "rust", "Cargo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, crate := range []string{"mmap-io", "memmap2"} {
		if v := crateVersion(string(lock), crate); !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(v) {
			t.Errorf("%s: version %q", crate, v)
		}
	}
	if v := crateVersion(string(lock), "mmap"); v != "" {
		t.Errorf("version %q of a crate that is not there", v)
	}
}

func TestPeers_NoCargo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	out := filepath.Join(t.TempDir(), "peers.txt")
	if _, err := Peers(t.Context(), []string{"-out", out}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("results without cargo")
	}
}

func TestPrograms_SmallRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the programs")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "programs.txt")
	t.Chdir("../..")
	res, err := Programs(t.Context(), []string{"-dir", dir, "-out", out, "-scale", "0.005", "-rounds", "1",
		"-benchtime", "1ms", "-row", "^(tar-list|pages-1000|fs-read)$"})
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"tar-list", "pages-1000", "fs-read"} {
		if row := results.ProgramRow(program, "new-process"); res.Median(row, "mmapfile") == 0 || res.Median(row, "os-again") == 0 {
			t.Errorf("%s was not measured", row)
		}
	}
}

func TestPredecessorFlags_NotToBeHad(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	var out strings.Builder
	if flags := predecessorFlags(t.Context(), &out); flags != nil {
		t.Errorf("%q", flags)
	}
	if got := out.String(); !strings.HasPrefix(got, "leaving out v0.1.2, which cannot be had: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("it says %q", got)
	}
}

// What is the first in a row pays for cold caches: each implementation is that in its turn.
func TestLab_Turns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the benchmarks")
	}
	t.Setenv("GOPROXY", "off") // v0.1.2 is no part of it
	dir := t.TempDir()
	t.Chdir("../..")
	out := filepath.Join(dir, "bench.txt")
	if _, err := Lab(t.Context(), []string{"-out", out, "-rounds", "3", "-benchtime", "1x", "-row", "Stat$", "-impl", "^(os|mmapfile|os-again)$"}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	checkTurns(t, raw, "Stat/")
}

// checkTurns looks whether each of three implementations of a row is the first one in its round.
func checkTurns(t *testing.T, raw []byte, row string) {
	t.Helper()
	var order []string
	for _, m := range regexp.MustCompile("Benchmark"+row+`impl=(os-again|os|mmapfile)`).FindAllStringSubmatch(string(raw), -1) {
		order = append(order, m[1])
	}
	if want := strings.Fields("mmapfile os-again os os-again os mmapfile os mmapfile os-again"); !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}
