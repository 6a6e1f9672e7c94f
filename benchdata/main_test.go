package main

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// The pages and the charts are those of the raw results that lie here.
func TestArtifacts_OfTheRawResults(t *testing.T) {
	for file, kind := range map[string]results.Kind{
		"bench-full": results.Calls, "cold": results.Cold, "programs": results.Programs, "needle": results.Needle, "events": results.Events,
		"durable": results.Durable, "raft": results.Raft, "peers": results.Peers, "regret": results.Regret, "reread": results.Reread,
	} {
		res, err := results.Read(filepath.Join("results", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if res.Kind() != kind {
			t.Errorf("%s is taken for %s", file, res.Kind())
		}
		made, err := artifacts(res)
		if err != nil || len(made) == 0 {
			t.Errorf("%s: %d files, %v", file, len(made), err)
		}
		for _, a := range made {
			if err := a.Put(true); err != nil {
				t.Error(err)
			}
		}
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
