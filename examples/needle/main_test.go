package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestSearchTellsOfWhatCannotBeSearched(t *testing.T) {
	dir, err := os.MkdirTemp("", "needle") // not t.TempDir, which wine cannot remove
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "data")
	if err := os.WriteFile(name, []byte("\x00\x00needle"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]string{nil, {"needle"}, {"no such"}} {
		if err := search(context.Background(), name, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := search(context.Background(), name+"x", nil); err == nil {
		t.Error("a file that is not there was searched")
	}
	if err := search(context.Background(), dir, nil); err == nil {
		t.Error("a directory was searched")
	}
}
