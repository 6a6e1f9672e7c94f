package tables

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// needleSample is a run over 1 GiB in which the first way needs 2 s and each of the others 1 s, for
// which it takes turns; with more workers than one, those that work in parallel take 0.5 s.
func needleSample() string {
	text := "date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nsize: 1G\nworkers: 2\n" +
		"missing-chunk-simd: it needs GOEXPERIMENT=simd, on amd64\nnote-mmap-avx2: measured without AVX2\n"
	var lines strings.Builder
	line := func(way, state string, workers int, sec float64, resident int) {
		text += fmt.Sprintf("BenchmarkNeedle/way=%s/state=%s/workers=%d-2 \t 1\t %.0f ns/op\t 1.00 MB/s\t %d.00 resident-%%\n",
			way, state, workers, sec*1e9, resident)
	}
	for round := range 3 {
		for i, w := range needle.Ways() {
			if w.Name == "chunk-simd" {
				continue
			}
			sec := 1.0
			if i == 0 {
				sec = 2
			}
			sec *= []float64{1, 5, 0.9}[round]
			line(w.Name, "warm", 1, sec, 100)
			if w.Open == nil {
				line(w.Name, "cold", 1, 10*sec, 0)
			}
			for _, n := range []int{2, 4, 8} {
				if w.Parallel {
					line(w.Name, "warm", n, sec/2, 100)
				}
				if w.Parallel && w.Open == nil {
					line(w.Name, "cold", n, 5*sec, 0)
				}
			}
		}
		for _, w := range needle.LineWays() {
			for _, n := range []int{1, 2} {
				fmt.Fprintf(&lines, "BenchmarkLines/way=%s/state=warm/workers=%d-2 \t 1\t %d ns/op\t 1.00 MB/s\t 100.00 resident-%%\n", w.Name, n, 1_000_000_000/n)
				if !w.Parallel {
					break
				}
			}
		}
	}
	return text + lines.String()
}

func TestReportNeedle(t *testing.T) {
	res := resultstest.Parse(t, needleSample())
	if n := res.Rounds(); n != 3 {
		t.Errorf("%d rounds, want 3", n)
	}
	text := printed(t, res)
	resultstest.Contains(t, text,
		"way, 2 workers where in parallel\twarm, GB/s\tspeed-up\tcold, GB/s\tspeed-up\n",
		"os.ReadFile, byte by byte\t0.54\t1.00\t0.05\t1.00\n",
		"mmap, words\t1.07\t2.00\t0.11\t2.00\n",
		"mmap, eight words a step, in parallel\t2.15\t4.00\t0.21\t4.00\n",
		"Read in chunks, simd/archsimd\t–\t–\t–\t–\n",
		"the machine: memory, eight words a step, in parallel\t2.15\t4.00\t–\t–\n",
		"counting lines, 2 workers where in parallel\twarm, GB/s\tspeed-up\n",
		"grep -c ''\t1.07\t1.00\n",
		"scan.Count, mapped before\t2.15\t2.00\n",
		"GB/s by the number of workers\t1\t2\t4\t8\n",
		"pread, eight words a step, warm\t1.07\t2.15\t2.15\t2.15\n",
		"pread, eight words a step, cold\t0.11\t0.21\t0.21\t0.21\n",
		"Each file: 1 GiB.\n", "Medians of 3 rounds or more; ext4",
		"Not measured: Read in chunks, simd/archsimd; it needs GOEXPERIMENT=simd, on amd64.\n",
		"mmap, AVX2 in assembler: measured without AVX2.\n",
		"none of the file was in memory",
	)
}

func TestNeedleResident(t *testing.T) {
	for percent, want := range map[string]string{
		" 12.50 resident-%": "Up to 12.5% of the file stayed",
		" 99.90 resident-%": "cold is warm here",
		"100.00 resident-%": "cold is warm here",
	} {
		var out bytes.Buffer
		text := strings.Replace(needleSample(), " 0.00 resident-%", percent, 1)
		if err := Report(&out, resultstest.Parse(t, text)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}

	var out bytes.Buffer
	text := strings.Replace(needleSample(), "100.00 resident-%", "50.00 resident-%", 1)
	if err := Report(&out, resultstest.Parse(t, text)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "As little as 50% of the file") {
		t.Errorf("nothing is said of too little memory in\n%s", &out)
	}

	// Where mincore is missing, nothing cold is measured.
	text = regexp.MustCompile(`\t *\S+ resident-%`).ReplaceAllString(needleSample(), "")
	text = regexp.MustCompile(`(?m)^.*/state=cold/.*\n`).ReplaceAllString(text, "")
	out.Reset()
	if err := Report(&out, resultstest.Parse(t, "missing-cold: it needs Linux\n"+text)); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "Not measured: cold; it needs Linux.\n") || strings.Contains(s, ", cold ") {
		t.Errorf("unexpected text:\n%s", s)
	}
}

func TestPublishNeedle(t *testing.T) {
	file, _ := oldPages(t, needleSample())
	if err := publish(file, true); err == nil {
		t.Error("check passes without the page")
	}
	for _, check := range []bool{false, true} {
		if err := publish(file, check); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "needle.md"))
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, string(text),
		"# Searches\n", "\n\n| way, 2 workers",
		"|---|--:|--:|--:|--:|\n| `os.ReadFile`, byte by byte | 0.54 | 1.00 | 0.05 | 1.00 |\n",
		"\n\n`make needle SIZE=1G` on 2026-01-02: medians of 3 interleaved rounds at commit unknown; EPYC",
	)

	for what, text := range map[string]string{
		"a way without results": regexp.MustCompile(`(?m)^.*/way=mmap-words/.*\n`).ReplaceAllString(needleSample(), ""),
		"no size":               strings.Replace(needleSample(), "size: 1G\n", "", 1),
		"no number of workers":  strings.Replace(needleSample(), "workers: 2\n", "", 1),
	} {
		if _, err := renderNeedle(resultstest.Parse(t, text)); err == nil {
			t.Errorf("no error for %s", what)
		}
	}
}
