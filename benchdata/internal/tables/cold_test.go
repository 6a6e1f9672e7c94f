package tables

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// coldSample is a run in which a mapping takes ten times as long as os.File, and mmapfile as long.
func coldSample(parts ...string) string {
	rows := map[string][]string{
		"dropped": {"what=dropped-random", "what=dropped-order", "what=evicted-random", "what=evicted-order"},
		"larger": {"what=larger/goroutines=1/figure=read", "what=larger/goroutines=1/figure=p99",
			"what=larger/goroutines=4/figure=read", "what=larger/goroutines=4/figure=p99"},
		"ticker": {"what=ticker/figure=p50", "what=ticker/figure=p99", "what=ticker/figure=max"},
	}
	for _, percent := range cold.SweepPercents {
		rows["sweep"] = append(rows["sweep"], strings.TrimPrefix(results.SweepRow(percent), results.ColdRows))
	}
	times := map[string]int{"os": 1000, "mmapfile": 1000, "mmapfile-view": 1000, "mmapfile-populate": 1000, "mapping": 10_000, "os-again": 1010}
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nreadahead: 128 KiB\n")
	for round := range 7 {
		for _, part := range parts {
			for _, row := range rows[part] {
				for impl, ns := range times {
					if part == "sweep" && (round >= cold.SweepRounds || impl == "os-again") || part != "ticker" && strings.HasPrefix(impl, "mmapfile-") {
						continue
					}
					fmt.Fprintf(&b, "BenchmarkCold/%s/impl=%s-2\t1\t%d ns/op\t0.25 %s\n", row, impl, ns+round, results.FaultUnit)
				}
			}
		}
	}
	return b.String()
}

func TestCold_Page(t *testing.T) {
	res := resultstest.Parse(t, coldSample("dropped", "larger", "sweep", "ticker"))
	page, err := renderCold(res)
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, page,
		"| a bare mapping, 4 goroutines | 100,000 | 0.10 | 10 µs | 250 |", "medians of 7 interleaved rounds", "medians of 3 rounds",
		"| 0.25 | 999,000 |", "reads ahead 128 KiB", "| mmapfile: `View` | 1 µs |", "charts/memory.svg",
	)
	var out bytes.Buffer
	if err := reportCold(&out, res); err != nil || !strings.Contains(out.String(), "A ticker beside a slow disk") {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

func TestCold_Missing(t *testing.T) {
	text := coldSample("dropped", "larger")
	if _, err := renderCold(resultstest.Parse(t, text)); err == nil {
		t.Error("a run without the ticker is published")
	}
	page, err := renderCold(resultstest.Parse(t, "missing-ticker: no cgroup\nmissing-sweep: no cgroup\n"+text))
	if err != nil || !strings.Contains(page, "Not measured: no cgroup.") {
		t.Errorf("%v in\n%s", err, page)
	}
}
