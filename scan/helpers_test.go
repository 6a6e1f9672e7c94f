package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

var ctx = context.Background()

var accesses = []scan.Access{scan.AccessAuto, scan.AccessView, scan.AccessRead}

// open creates a file with that content, and closes it when the test ends.
func open(t testing.TB, content []byte) *mmapfile.File {
	t.Helper()
	name := filepath.Join(tempDir(t), "data")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// tempDir is t.TempDir, but ignores that a mapped file cannot be removed on Windows.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scan-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
