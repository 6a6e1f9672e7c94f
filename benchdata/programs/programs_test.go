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
		if seen[p.name] || p.what == "" {
			t.Errorf("two programs %s, or nothing is said of it", p.name)
		}
		seen[p.name] = true
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
