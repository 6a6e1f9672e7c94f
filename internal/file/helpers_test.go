package file_test

import (
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

var page = int64(os.Getpagesize())

// mustMap maps f, and prefaults its pages for reads and writes until the end of the test. It does
// nothing in a build without mappings, because Bytes would make a copy there.
func mustMap(t testing.TB, f *mmapfile.File) {
	t.Helper()
	if !filetest.CanMap {
		return
	}
	if f.Bytes() == nil {
		t.Fatal("Bytes returned nil for a file that can be mapped")
	}
	if !filetest.Mapped(f) {
		t.Fatal("the file is not mapped after Bytes")
	}
	file.HoldPages(t)
	file.PrefaultAll(f)
}

// TestChildProcess is the entry point of child processes. It tests nothing.
func TestChildProcess(t *testing.T) { filetest.ChildProcess(t) }
