package run

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// compared is raw results of two trees, in turns.
func compared(row string, base, head func(i int) float64) string {
	text := ""
	for i := range 10 {
		text += fmt.Sprintf("tree: base\nBenchmark%s/impl=mmapfile-2 1 %v ns/op\ntree: head\nBenchmark%[1]s/impl=mmapfile-2 1 %[3]v ns/op\n",
			row, base(i), head(i))
	}
	return text
}

func steady(ns float64) func(i int) float64 {
	return func(i int) float64 { return ns + float64(i)/10 }
}

func TestOnlyASignificantSlowdownAbove15PercentIsOne(t *testing.T) {
	text := compared("Read/size=1KB", steady(100), steady(130)) +
		compared("Seek", steady(100), steady(110)) +
		compared("Stat", steady(100), func(i int) float64 { return []float64{90, 150}[i%2] + float64(i) }) +
		compared("Sync", steady(100), steady(50))
	var out bytes.Buffer
	slower, err := reportComparison(&out, resultstest.Parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Read/size=1KB"}; !slices.Equal(slower, want) {
		t.Errorf("slower: %q, want %q\n%s", slower, want, &out)
	}
	text = regexp.MustCompile(` {2,}`).ReplaceAllString(out.String(), "\t")
	resultstest.Contains(t, text, "Read/size=1KB\t100 ns\t130 ns\t+29.87%\tp=0.000 n=10\tSLOWER\n", "\nSeek\t100 ns\t110 ns\t+9.96%\t", "\nStat\t100 ns\t")
}

func TestSlowerRowsAreSelectedWhole(t *testing.T) {
	want := "^BenchmarkSeek$|^BenchmarkRead$/^size=1KB$"
	if got := exactly([]string{"Seek", "Read/size=1KB"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// v0.1.2 and the like are no patterns.
	if got := exactly([]string{"A/b=1.5"}); got != `^BenchmarkA$/^b=1\.5$` {
		t.Error(got)
	}
}
