package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// What is published is that of the raw results that lie here. The files of calls take benchstat, which make check runs.
func TestPublish_FilesAreThoseOfTheRawResults(t *testing.T) {
	for _, file := range []string{"cold", "programs", "needle", "events", "durable", "raft", "peers", "regret", "reread"} {
		res, err := results.Read(filepath.Join("results", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := publish(t.Context(), res, true); err != nil {
			t.Error(err)
		}
	}
}

func TestPublish_Picture(t *testing.T) {
	raw, err := os.ReadFile("results/cold.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "docs"), os.DirFS("../docs")); err != nil { // it has a table of this
		t.Fatal(err)
	}
	res, err := results.Parse(bytes.NewReader(raw), filepath.Join(root, "benchdata", "results", "cold.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := publish(t.Context(), res, true); err == nil {
		t.Error("nothing is published, and the check passes")
	}
	for _, check := range []bool{false, true} {
		if err := publish(t.Context(), res, check); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := os.ReadFile(filepath.Join(filepath.Dir(res.File), "..", "charts", "memory.svg"))
	if err != nil || !bytes.Contains(picture, []byte("medians of 3 rounds")) {
		t.Errorf("the picture: %v", err)
	}
}

func TestCommand_Usage(t *testing.T) {
	for _, args := range [][]string{nil, {"none"}, {"check"}} {
		if err := command(t.Context(), args); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
}

// Each command is in what -h prints, which fits on a screen.
func TestUsage_AllCommands(t *testing.T) {
	if n := strings.Count(usage, "\n"); n > 22 {
		t.Errorf("%d lines", n)
	}
	for _, list := range [][]string{slices.Collect(maps.Keys(measures)), slices.Collect(maps.Keys(shows)), {"compare"}} {
		for _, name := range list {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(usage) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}
