package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// coldSample is a run in which a mapping takes ten times as long as os.File, and mmapfile as long.
func coldSample(parts ...string) string {
	rows := map[string][]string{
		"dropped": {"what=dropped-random", "what=dropped-order", "what=evicted-random", "what=evicted-order"},
		"larger": {"what=larger/goroutines=1/figure=read", "what=larger/goroutines=1/figure=p99",
			"what=larger/goroutines=4/figure=read", "what=larger/goroutines=4/figure=p99"},
		"ticker": {"what=ticker/figure=p50", "what=ticker/figure=p99", "what=ticker/figure=max"},
	}
	for _, percent := range sweepPercents {
		rows["sweep"] = append(rows["sweep"], strings.TrimPrefix(sweepRow(percent), coldRows))
	}
	times := map[string]int{"os": 1000, "mmapfile": 1000, "mmapfile-view": 1000, "mmapfile-populate": 1000, "mapping": 10_000, "os-again": 1010}
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nreadahead: 128 KiB\n")
	for round := range 7 {
		for _, part := range parts {
			for _, row := range rows[part] {
				for impl, ns := range times {
					if part == "sweep" && (round >= sweepRounds || impl == "os-again") || part != "ticker" && strings.HasPrefix(impl, "mmapfile-") {
						continue
					}
					fmt.Fprintf(&b, "BenchmarkCold/%s/impl=%s-2\t1\t%d ns/op\t0.25 %s\n", row, impl, ns+round, faultUnit)
				}
			}
		}
	}
	return b.String()
}

func TestCold_Page(t *testing.T) {
	res := parse(t, coldSample("dropped", "larger", "sweep", "ticker"))
	if !res.ofCold() || res.ofPrograms() || res.ofEvents() || parse(t, sample).ofCold() {
		t.Error("files that are not in memory are not taken for them")
	}
	page, err := renderCold(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| a bare mapping, 4 goroutines | 100,000 | 0.10 | 10 µs | 250 |", "medians of 7 interleaved rounds", "medians of 3 rounds",
		"| 0.25 | 999,000 |", "reads ahead 128 KiB", "| mmapfile: `View` | 1 µs |", "charts/memory.svg",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	var out bytes.Buffer
	if err := reportCold(&out, res); err != nil || !strings.Contains(out.String(), "A ticker beside a slow disk") {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

func TestCold_Missing(t *testing.T) {
	text := coldSample("dropped", "larger")
	if _, err := renderCold(parse(t, text)); err == nil {
		t.Error("a run without the ticker is published")
	}
	page, err := renderCold(parse(t, "missing-ticker: no cgroup\nmissing-sweep: no cgroup\n"+text))
	if err != nil || !strings.Contains(page, "Not measured: no cgroup.") {
		t.Errorf("%v in\n%s", err, page)
	}
}

func TestCold_Published(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cold.txt")
	if err := os.WriteFile(file, []byte(coldSample("dropped", "larger", "sweep", "ticker")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, check := range []bool{false, true} {
		if err := publish(t.Context(), file, check); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := os.ReadFile(filepath.Join(dir, "charts", "memory.svg"))
	if err != nil || !bytes.Contains(picture, []byte("medians of 3 rounds")) {
		t.Errorf("the picture: %v", err)
	}
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 123.4: "123", 1234: "1,230", 121_499: "121,000", 2_345_678: "2,350,000"} {
		if got := thousands(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
