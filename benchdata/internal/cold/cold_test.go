//go:build linux

package cold

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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

// Each row runs with each implementation, on a small file.
func TestRun_AllRows(t *testing.T) {
	path, events := testFile(t), t.TempDir()
	if err := MakeEvents(events); err != nil {
		t.Fatal(err)
	}
	for _, row := range Rows() {
		if row.Memory == NoLimit || row.Throttled {
			continue // it needs a group, or leaves goroutines to the end of its process
		}
		for _, impl := range row.Impls {
			if impl == OSAgain {
				continue
			}
			w := Work{Row: row, Impl: impl, Path: path, For: time.Millisecond}
			if row.Piece > 0 {
				w.Path, w.Size = filepath.Join(t.TempDir(), "own"), 1<<20
			}
			if row.Events {
				w.Path = events
			}
			figures, err := w.run()
			if err != nil {
				t.Errorf("%s, %s: %v", row.Key, impl, err)
			}
			var names []string
			for _, f := range figures {
				names = append(names, f.Name)
				if f.NS <= 0 {
					t.Errorf("%s, %s: %v", row.Key, impl, f)
				}
			}
			if want := row.Figures; !slices.Equal(names, want) && !slices.Equal(append(want, ""), names) {
				t.Errorf("%s, %s: figures %q, want %q", row.Key, impl, names, want)
			}
		}
	}
}

// Each row is a line of its own, compared with one that has a time with os.File.
func TestRows_Keys(t *testing.T) {
	keys := map[string]bool{}
	for _, row := range Rows() {
		if keys[row.Key] || strings.Contains(row.Key, "/way=") || strings.Contains(row.Key, "/impl=") || row.Base != "" && !keys[row.Base] {
			t.Errorf("key %s, base %s", row.Key, row.Base)
		}
		keys[row.Key] = true
	}
}

func TestRun_Arguments(t *testing.T) {
	row := Rows()[0]
	w := Work{Row: row, Impl: Mmapfile, Path: testFile(t), For: time.Millisecond}
	args, err := w.Args()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Run(args[1:], &out); err != nil {
		t.Fatal(err)
	}
	var figures []Figure
	if err := json.Unmarshal(out.Bytes(), &figures); err != nil || len(figures) != 1 || figures[0].NS <= 0 {
		t.Errorf("%s, %v", out.String(), err)
	}
	if err := Run([]string{`{"RowKey": "none"}`}, &out); err == nil {
		t.Error("there is a row none")
	}
}

func TestRun_Evicted(t *testing.T) {
	g, err := NewMemoryGroup(NoLimit)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}()
	for _, row := range Rows() {
		if row.Memory != NoLimit {
			continue
		}
		w := Work{Row: row, Impl: Mmapfile, Path: testFile(t)}
		g.Put(&w)
		for _, file := range []string{w.Procs, w.Reclaim} {
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
		w.Procs = "" // this process has other pages
		if _, err := w.run(); err != nil && !strings.Contains(err.Error(), "still in memory") {
			t.Errorf("%s: %v", row.Key, err)
		}
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
	for _, off := range blocksAnywhere(256 * block) {
		if seen[off] || off%block != 0 {
			t.Fatalf("offset %d", off)
		}
		seen[off] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d blocks", len(seen))
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
