package run

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/tables"
)

// A small run has every row, with as many rounds.
func TestNeedle_SmallRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BENCH_DIR", dir)
	t.Chdir("../..")
	out := filepath.Join(dir, "needle.txt")
	res, err := Needle(t.Context(), []string{"-size", "300003", "-rounds", "2", "-out", out})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Rounds(); n != 2 || res.Kind() != results.Needle {
		t.Errorf("%d rounds, want 2", n)
	}
	if got := res.Config["size"]; got != "300003" {
		t.Errorf("size %q", got)
	}
	for _, w := range needle.Ways() {
		_, missing := res.Config["missing-"+w.Name]
		for _, state := range []string{"warm", "cold"} {
			want := w.Missing == "" && (state == "warm" || w.Open == nil && pagecache.Missing == "")
			for _, n := range []int{1, 2, 4, 8} {
				if got := res.Median(results.SearchRow("Needle", state, n), w.Name) > 0; got != (want && (n == 1 || w.Parallel)) {
					t.Errorf("%s, %s, %d workers: measured %v", w.Name, state, n, got)
				}
			}
		}
		if missing != (w.Missing != "") {
			t.Errorf("%s: said to be missing: %v", w.Name, missing)
		}
	}
	for _, w := range needle.LineWays() {
		if got := res.Median(results.SearchRow("Lines", "warm", 1), w.Name) > 0; got != (w.Missing == "") {
			t.Errorf("counting lines, %s: measured %v", w.Name, got)
		}
	}
	if _, err := tables.Pages(res, dir); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Needle(ctx, []string{"-size", "1M", "-out", out}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a run that is broken off", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "mmapfile-bench-*")); len(left) > 0 || err != nil {
		t.Errorf("it leaves %q, %v", left, err)
	}
	if _, err := results.Read(out); err != nil {
		t.Error("it takes away the results of the run before:", err)
	}
}
