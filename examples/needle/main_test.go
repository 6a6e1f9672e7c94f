package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestSearchTellsOfWhatCannotBeSearched(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
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
	if err := search(context.Background(), t.TempDir(), nil); err == nil {
		t.Error("a directory was searched")
	}
}
