package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
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

func TestCharts_Policies(t *testing.T) {
	dir := t.TempDir()
	res := resultstest.Parse(t, "fs: ext4\n"+resultstest.Rounds("Policy/state=hot-64B", 25))
	if made, err := Charts(res, dir); err != nil || len(made) != len(charts) {
		t.Errorf("%d files without a policy, %v", len(made), err)
	}
	policies := filepath.Join(dir, results.PoliciesDir)
	if err := os.MkdirAll(policies, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policies, "a.txt"), []byte("policy: always\n"+resultstest.Rounds("Policy/state=hot-64B", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	if made, err := Charts(res, dir); err != nil || !bytes.Contains(made["policies.svg"], []byte("always")) {
		t.Errorf("%d files with a policy, %v", len(made), err)
	}
}

func TestPoliciesWithin_StandInForMmapfile(t *testing.T) {
	res := resultstest.Parse(t, "BenchmarkPolicy/policy=never/state=a/impl=mmapfile-2 1 50 ns/op\n"+
		"BenchmarkPolicy/policy=never/state=a/impl=os-2 1 100 ns/op\n")
	if got := policiesWithin(res, res.Rows); len(got) != 1 || got[0] != "never" {
		t.Errorf("policies %q", got)
	}
}
