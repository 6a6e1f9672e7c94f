package pagecache

import (
	"os"
	"path/filepath"
	"testing"
)

func TestResident_Dropped(t *testing.T) {
	if Missing != "" {
		t.Skip(Missing)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	if share, err := Resident(path); share != 1 || err != nil {
		t.Errorf("just written, in memory: %v, %v", share, err)
	}
	if err := Drop(path); err != nil {
		t.Fatal(err)
	}
	// Where files live in memory, they stay there.
	if share, err := Resident(path); share < 0 || share > 1 || err != nil {
		t.Errorf("in memory: %v, %v", share, err)
	}
	if share, err := Resident(os.DevNull); share != 0 || err != nil {
		t.Errorf("a file without pages: %v, %v", share, err)
	}
}
