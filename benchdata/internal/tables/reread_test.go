package tables

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// rereadSample is a run in which mmapfile is faster for pages that are read 20 and 100 times, as percent says.
func rereadSample(percent ...float64) string {
	if percent == nil {
		percent = []float64{110, 130, 120, 40, 20}
	}
	text := "date: 2026-01-02T03:04:05Z\nfs: ext4\n"
	for i, n := range results.RereadTimes {
		text += resultstest.Rounds(results.RereadRow(n), percent[i], percent[i]+1, percent[i]+2, percent[i]+3, percent[i]+4)
	}
	for _, n := range results.OpenTimes {
		for _, pages := range results.OpenPages {
			for range 5 {
				text += fmt.Sprintf("Benchmark%s/impl=os-2 1 100 heap-B/op 0 page-tables-B/op\n", results.OpenRow(n, pages)) +
					fmt.Sprintf("Benchmark%s/impl=exp-2 1 24 heap-B/op 4096 page-tables-B/op\n", results.OpenRow(n, pages)) +
					fmt.Sprintf("Benchmark%s/impl=mmapfile-2 1 %d heap-B/op %d page-tables-B/op\n", results.OpenRow(n, pages), pages, 1024*n)
			}
		}
	}
	return text
}

func TestReread_Page(t *testing.T) {
	file, page := oldPages(t, rereadSample(), rereadBlock, openFileBlock)
	putBlocks(t, file)
	resultstest.Contains(t, page(rereadBlock), "(benchdata/charts/reread.svg)\n\n",
		"Pages that are read 1 to 5 times gain nothing: `File` takes 1.10 to 1.29 of the time of `os.File`. Those that are read 20 to 100 times take 0.22 to 0.41.\n")
	resultstest.Contains(t, page(openFileBlock), "(../benchdata/charts/openfile.svg)\n\n",
		"read 2 times, an open `File` takes up to 6 KiB; if it is read 100 times, up to 104 KiB. `x/exp/mmap` takes up to 4.02 KiB, and `os.File` up to 100 B.\n",
		"`make bench-reread` on 2026-01-02: medians of 5 interleaved rounds")
	resultstest.Contains(t, printed(t, resultstest.Parse(t, rereadSample())), "20 times\t102 ns\t–\t42 ns\t0.41\t1.04\n",
		"2 times\t256\t100 B\t4.02 KiB\t2.25 KiB\n")
}

func TestRenderReread_NoOtherGains(t *testing.T) {
	for want, percent := range map[string][]float64{
		"\nPages that are read 1 to 100 times gain nothing: `File` takes 1.02 to 1.49 of the time of `os.File`.\n": {102, 103, 110, 150, 120},
		"\nPages that are read 1 to 100 times gain: `File` takes 0.12 to 0.51 of the time of `os.File`.\n":         {50, 40, 30, 20, 10},
		// A gain that is lost again is none.
		"gain nothing: `File` takes 0.51 to 1.20 of the time of `os.File`. Those that are read 100 times take 0.12.\n": {50, 105, 106, 120, 10},
	} {
		text, err := renderReread(resultstest.Parse(t, rereadSample(percent...)))
		if err != nil {
			t.Fatal(err)
		}
		resultstest.Contains(t, text, want)
	}
}

func TestRenderReread_Incomplete(t *testing.T) {
	var reads, memory string
	for line := range strings.Lines(rereadSample()) {
		if !strings.Contains(line, "/times=20/") {
			reads += line
		}
		if !strings.Contains(line, "/pages=4096/impl=exp") {
			memory += line
		}
	}
	if _, err := renderReread(resultstest.Parse(t, reads)); err == nil {
		t.Error("a run without 20 times is published")
	}
	if _, err := renderOpenFile(resultstest.Parse(t, memory)); err == nil {
		t.Error("a run without 4096 pages is published")
	}
}
