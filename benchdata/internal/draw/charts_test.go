package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

func TestChartsAreTheSameEachTimeAndWellFormed(t *testing.T) {
	res := resultstest.Parse(t, resultstest.Sample+resultstest.Rounds("Policy/state=hot-64B", 1, 2, 3)+resultstest.Rounds("ReadAtGoroutines/goroutines=1", 9))
	for file, chart := range charts {
		first, err := chart(res).draw(res)
		if err != nil {
			t.Fatal(err)
		}
		again, err := chart(res).draw(res)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Errorf("%s is another picture each time", file)
		}
		d := xml.NewDecoder(bytes.NewReader(first))
		for err = nil; err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", file, err)
		}
		for _, want := range []string{"prefers-color-scheme: dark", "sans-serif", "medians of 1 rounds", "ext4"} {
			if !bytes.Contains(first, []byte(want)) {
				t.Errorf("%s: %q is missing", file, want)
			}
		}
	}
}

func TestCharts_Reread(t *testing.T) {
	text := ""
	for _, pages := range results.RereadPages {
		for _, n := range results.RereadTimes {
			text += resultstest.Rounds(results.RereadRow(pages, n), 10)
		}
	}
	for _, n := range results.OpenTimes {
		for _, pages := range results.OpenPages {
			text += "Benchmark" + results.OpenRow(n, pages) + "/impl=mmapfile-2 1 300 heap-B/op 4096 page-tables-B/op\n"
		}
	}
	made, err := Charts(resultstest.Parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for file, wants := range map[string][]string{
		"reread.svg":   {"(log scale)", ">20<", ">100<", ">50 ns<", "side by side", "one in each 64 KiB"},
		"openfile.svg": {"(log scale)", ">4096<", ">16 KiB<", "each page read 100 times"},
	} {
		resultstest.Contains(t, string(made[file]), append(wants, "prefers-color-scheme: dark", "x/exp/mmap")...)
	}
	if len(made) != 2 {
		t.Errorf("%d charts", len(made))
	}
}

func TestChartsOfASelectionAreDrawn(t *testing.T) {
	res := resultstest.Parse(t, resultstest.Sample)
	for file, chart := range charts {
		if _, err := chart(res).draw(res); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The pages name each chart that is drawn.
func TestCharts_Named(t *testing.T) {
	if len(results.Charts) != len(charts) {
		t.Errorf("%d charts are drawn, and %d named", len(charts), len(results.Charts))
	}
	for _, ch := range results.Charts {
		if charts[ch.Key] == nil {
			t.Errorf("%s is not drawn", ch.Key)
		}
	}
}
