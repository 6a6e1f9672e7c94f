// Package resultstest has raw results for tests.
package resultstest

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Sample is what a run prints: three rounds of two rows.
const Sample = `date: 2026-01-02T03:04:05Z
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

// Parse reads raw results from a text.
func Parse(t *testing.T, text string) *results.Set {
	t.Helper()
	res, err := results.Parse(strings.NewReader(text), "raw.txt")
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Rounds is a run of a row in which os.File takes 100 ns, and once more 104, and mmapfile what is given.
func Rounds(row string, mmapfile ...float64) string {
	text := ""
	for i, ns := range mmapfile {
		text += fmt.Sprintf("Benchmark%s/impl=os-2 1 %d ns/op\nBenchmark%[1]s/impl=mmapfile-2 1 %[3]v ns/op\n"+
			"Benchmark%[1]s/impl=os-again-2 1 %[4]d ns/op\n", row, 100+i, ns, 104+i)
	}
	return text
}

// Contains fails the test for each part that a text lacks.
func Contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}
