package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The tests run at this scale: all data takes some 30 MB.
const testScale = 0.01

func TestPrograms_SameResult(t *testing.T) {
	dir := dataDir(t.TempDir(), testScale)
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			if err := p.data.prepare(dir, testScale); err != nil {
				t.Fatal(err)
			}
			states := []string{stateOne, stateNew}
			if missingDrop == "" {
				states = append(states, stateCold)
			}
			var want *result
			for _, state := range states {
				for _, name := range []string{"os", "mmapfile"} {
					m, err := measure(p, p.env(dir, testScale, implementations[name]), state, time.Millisecond)
					if err != nil {
						t.Fatalf("%s, %s: %v", state, name, err)
					}
					if m.runs < 1 || m.each <= 0 {
						t.Errorf("%s, %s: %d runs of %v each", state, name, m.runs, m.each)
					}
					if want == nil {
						want = &m.res
					} else if m.res != *want {
						t.Errorf("%s, %s: found %v, want %v", state, name, m.res, *want)
					}
				}
			}
		})
	}
}

func TestPrograms_Names(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs() {
		if seen[p.name] {
			t.Errorf("two programs %s", p.name)
		}
		seen[p.name] = true
		if p.what == "" || p.data == nil || p.run == nil {
			t.Errorf("%s is incomplete", p.name)
		}
	}
	if _, err := programOf("none"); err == nil {
		t.Error("there is a program none")
	}
}

func TestDataset_Deterministic(t *testing.T) {
	for _, d := range []*dataset{smallTar, zipFile, textFile, pageFile} {
		var contents [2]string
		for i := range contents {
			dir := t.TempDir()
			if err := d.prepare(dir, 0.001); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(dir, d.name))
			if err != nil {
				t.Fatal(err)
			}
			contents[i] = string(content)
		}
		if contents[0] != contents[1] || contents[0] == "" {
			t.Errorf("%s is empty, or another one each time", d.name)
		}
	}
}

func TestDataset_Kept(t *testing.T) {
	dir, made := t.TempDir(), 0
	d := &dataset{"kept", func(path string, _ float64) error {
		made++
		return os.WriteFile(path, []byte("x"), 0o644)
	}}
	for range 2 {
		if err := d.prepare(dir, 1); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 {
		t.Errorf("generated %d times, want 1", made)
	}
}

func TestResult_OrderCounts(t *testing.T) {
	var a, b result
	a.add(1)
	a.add(2)
	b.add(2)
	b.add(1)
	if a == b {
		t.Errorf("%v in both orders", a)
	}
}

func TestFillCache_AllWays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 3*pageSize+1), 0o644); err != nil {
		t.Fatal(err)
	}
	ways := []string{fillOrder}
	if missingDrop == "" {
		ways = append(ways, fillPages)
	}
	for _, how := range ways {
		if err := fillCache(path, how); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
	if fillCache(path, "none") == nil {
		t.Error("there is a way none")
	}
}
