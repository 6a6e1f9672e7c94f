//go:build linux

package cold

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// testFile returns a file of 4 MiB.
func testFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456789abcde\n"), 4<<20/16), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun_AllWorks(t *testing.T) {
	path := testFile(t)
	want := map[string]int{"dropped-random": 1, "dropped-order": 1, "larger": 2} // the goroutines of a ticker end with their process
	for what, figures := range want {
		for _, impl := range []string{OS, Mmapfile, Mapping} {
			w := Work{What: what, Impl: impl, File: path, Goroutines: 2, Reads: 100, Memory: 1 << 20, For: 5 * time.Millisecond}
			var out strings.Builder
			if err := Run(w.Args()[1:], &out); err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(out.String()) {
				f, err := Parse(line)
				if err != nil || f.NS <= 0 {
					t.Errorf("%s, %s: %q: %v", what, impl, line, err)
				}
				n++
			}
			if n != figures {
				t.Errorf("%s, %s: %d figures, want %d", what, impl, n, figures)
			}
		}
	}
	if err := Run([]string{"-what=none"}, &strings.Builder{}); err == nil {
		t.Error("there is a work none")
	}
}

// Each case runs with both, on a small file.
func TestRun_AllCases(t *testing.T) {
	path := testFile(t)
	for _, c := range Cases() {
		if c.Work.What == "evicted-back" || c.Part == PartEvents {
			continue // they need a group, or events
		}
		for _, impl := range c.Impls[:2] {
			w := c.Work
			w.Impl, w.File, w.For, w.Reads = impl, path, time.Millisecond, min(c.Work.Reads, 10)
			if c.Size == 0 {
				w.File = filepath.Join(t.TempDir(), "own")
			}
			var out strings.Builder
			if err := Run(w.Args()[1:], &out); err != nil {
				t.Errorf("%s, %s: %v", c.Key, impl, err)
				continue
			}
			if f, err := Parse(out.String()); err != nil || f.NS <= 0 {
				t.Errorf("%s, %s: %q: %v", c.Key, impl, out.String(), err)
			}
		}
	}
}

// Only works on files that were dropped need a run that does not count. The others fill the caches.
func TestWork_Drops(t *testing.T) {
	for _, c := range Cases() {
		want := c.Part == PartOrder || c.Part == PartEvents || c.Part == PartScattered && c.Key != "advise-in-memory"
		if got := c.Work.Drops(); got != want {
			t.Errorf("%s: %v, want %v", c.Key, got, want)
		}
	}
}

func TestRun_Events(t *testing.T) {
	dir := t.TempDir()
	if err := MakeEvents(dir); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"events-read", "events-recover"} {
		for _, impl := range []string{OS, Mmapfile} {
			w := Work{What: what, Impl: impl, File: dir}
			if figures, err := w.do(); err != nil || len(figures) != 1 || figures[0].NS <= 0 {
				t.Errorf("%s, %s: %v, %v", what, impl, figures, err)
			}
		}
	}
}

func TestRun_EvictedBack(t *testing.T) {
	g, err := NewMemoryGroup(0)
	if err != nil {
		t.Skip(err)
	}
	defer g.Remove()
	w := Work{What: "evicted-back", Impl: Mmapfile, File: testFile(t)}
	g.Put(&w)
	w.Procs = "" // this process has other pages
	if _, err := w.do(); err != nil && !strings.Contains(err.Error(), "still in memory") {
		t.Error(err)
	}
}

func TestLoop_ReadAhead(t *testing.T) {
	l, err := NewLoop(t.TempDir(), 32<<20)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(l.Dir, "file")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o644); err != nil {
		t.Error(err)
	}
	if got, want := ReadAhead(path), "128 KiB"; got != want {
		t.Errorf("reads ahead %q, want %q", got, want)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("it leaves its directory")
	}
}

func TestBlocksAnywhere_Different(t *testing.T) {
	seen := map[int64]bool{}
	for _, off := range blocksAnywhere(256, 256*block) {
		if seen[off] || off%block != 0 {
			t.Fatalf("offset %d", off)
		}
		seen[off] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d blocks", len(seen))
	}
}

func TestWork_Args(t *testing.T) {
	w := Work{"larger", Mmapfile, "/a b", "/p", "/r", "0", 1 << 40, 4, 7, 64, time.Second}
	var got Work
	if err := got.flags().Parse(w.Args()[1:]); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		t.Errorf("%+v, want %+v", got, w)
	}
}

func TestEvicted_Group(t *testing.T) {
	g, err := NewMemoryGroup(0)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}()
	var w Work
	g.Put(&w)
	for _, file := range []string{w.Procs, w.Reclaim} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

func TestPlace_EachRecordOnce(t *testing.T) {
	const records = 96 << 10
	seen := make([]bool, records)
	for rank := range uint64(records) {
		at := place(rank, records*record) / record
		if seen[at] {
			t.Fatalf("two ranks have record %d", at)
		}
		seen[at] = true
	}
}

func TestHistogram_Percentile(t *testing.T) {
	var a, b histogram
	for n := range 50 {
		a.add(time.Duration(n+1) * time.Microsecond)
		b.add(time.Duration(n+51) * time.Microsecond)
	}
	b.add(-1)
	a.merge(&b)
	for percent, want := range map[float64]time.Duration{50: 50 * time.Microsecond, 99: 99 * time.Microsecond, 100: 100 * time.Microsecond} {
		if got := a.percentile(percent); got < want*96/100 || got > want*104/100 {
			t.Errorf("%v%%: %v, want %v", percent, got, want)
		}
	}
	if (&histogram{}).percentile(99) != 0 {
		t.Error("no times have a percentile")
	}
}
