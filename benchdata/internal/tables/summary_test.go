package tables

import (
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

func TestWarmText_MedianAndDearestRow(t *testing.T) {
	if text := warmText(resultstest.Parse(t, resultstest.Sample)); text != "" {
		t.Errorf("results that do not tell: %s", text)
	}
	res := resultstest.Parse(t, "warm: rounds of 8 calls\n"+
		"BenchmarkA/impl=os-2 1 100 ns/op 16 warm-calls 1 warm-ratio\n"+
		"BenchmarkA/impl=mmapfile-2 1 50 ns/op 16 warm-calls 1.5 warm-ratio\n"+
		"BenchmarkB/state=x/impl=os-2 1 100 ns/op 16 warm-calls 1.2 warm-ratio\n"+
		"BenchmarkB/state=x/impl=mmapfile-2 1 50 ns/op 20 warm-calls 2 warm-ratio\n"+
		"BenchmarkB/state=x/impl=mmapfile-2 1 50 ns/op 24 warm-calls 3 warm-ratio\n"+
		"BenchmarkB/state=x/impl=mmapfile-2 1 50 ns/op 32 warm-calls 9 warm-ratio\n")
	text := warmText(res)
	for _, want := range []string{
		"Rows of a steady state are warmed up, by rounds of 8 calls. Warm-up",
		"with `os.File` one took 1.10 times the row's figure in the middle row (the most: `B/state=x`: 16 calls of 1.20 times its figure); ",
		"with mmapfile one took 2.25 times the row's figure in the middle row (the most: `B/state=x`: 24 calls of 3.00 times its figure).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// A run without v0.1.2 has no columns for it, and no line about what is slower.
func TestSummarize_NoPredecessor(t *testing.T) {
	rows := "BenchmarkStat/impl=os-2 1 60 ns/op\nBenchmarkStat/impl=mmapfile-2 1 50 ns/op\n"
	for text, want := range map[string]bool{rows: false, rows + "BenchmarkStat/impl=v0.1.2-2 1 50 ns/op\n": true} {
		var out strings.Builder
		if err := summarize(&out, resultstest.Parse(t, text)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "/ v0.1.2"); got != want || !strings.Contains(out.String(), "0.83") {
			t.Errorf("a column of v0.1.2: %v, want %v, in\n%s", got, want, out.String())
		}
	}
}
