package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/migrate/internal/modcopy"
)

func TestSurvey_Program(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &survey{root: root, dir: t.TempDir()}
	if err := s.buildTool(); err != nil {
		t.Fatal(err)
	}
	m := &module{Path: "test.example", Dir: filepath.Join(s.dir, "program"), cached: "../testdata/program"}
	if err := modcopy.Copy(m.Dir, m.cached); err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"go.mod": "module test.example\n\ngo 1.26.0\n", "go.sum": string(sum)} {
		if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.report(m)
	if want := (counts{likely: 4, noGain: 1, refused: 1}); err != nil || got != want {
		t.Errorf("the report counts %+v, %v, want %+v", got, err, want)
	}
	result, err := s.rewrite(m)
	if err != nil || result != "builds, vets" {
		t.Errorf("rewritten: %s, %v", result, err)
	}
	source, err := os.ReadFile(filepath.Join(m.Dir, "main.go"))
	if n := strings.Count(string(source), "mmapfile."); err != nil || n != 8 {
		t.Errorf("mmapfile is used %d times, %v", n, err)
	}
}

func TestFindings_Lines(t *testing.T) {
	a := errors.New("go vet: exit status 1\n# a\n./x.go:10:2: one\n./y.go:7:30: two 3\n")
	b := errors.New("go vet: exit status 1\n# a\n./y.go:8:30: two 3\n./x.go:10:2: one\n")
	c := errors.New("go vet: exit status 1\n# a\n./x.go:10:2: one\n./y.go:7:30: two 4\n")
	if !slices.Equal(findings(a), findings(b)) || slices.Equal(findings(a), findings(c)) {
		t.Errorf("%q\n%q\n%q", findings(a), findings(b), findings(c))
	}
}

func TestCounts_String(t *testing.T) {
	var n counts
	n.add(counts{1, 2, 3})
	n.add(counts{1, 0, 0})
	if got, want := n.String(), "7\t2\t2\t3\t"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestREADME_Versions compares the rows of the table with the modules that the Makefile pins.
func TestREADME_Versions(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+) (v\S+) \|`).FindAllSubmatch(readme, -1) {
		rows = append(rows, string(m[1])+"@"+string(m[2]))
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(makefile), "\nSURVEY ?=")
	rest, _, end := strings.Cut(rest, "\nSURVEY_FLAGS")
	pinned := strings.Fields(strings.ReplaceAll(rest, "\\\n", " "))
	if !ok || !end || len(pinned) == 0 || !slices.Equal(rows, pinned) {
		t.Errorf("README.md has\n%q\nand the Makefile\n%q", rows, pinned)
	}
}
