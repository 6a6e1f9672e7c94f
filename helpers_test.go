package mmapfile_test

import (
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

var page = int64(os.Getpagesize())

// mustMap maps f, and prefaults its pages for reads and writes until the end of the test. It does
// nothing in a build without mappings, because Bytes would make a copy there.
func mustMap(t testing.TB, f *mmapfile.File) {
	t.Helper()
	if !mmapfile.CanMap {
		return
	}
	if f.Bytes() == nil {
		t.Fatal("Bytes returned nil for a file that can be mapped")
	}
	if !mmapfile.Mapped(f) {
		t.Fatal("the file is not mapped after Bytes")
	}
	mmapfile.HoldPages(t)
	mmapfile.PrefaultAll(f)
}

// mustOpenMapped opens and maps name, as filetest.Open and mustMap do.
func mustOpenMapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f := filetest.Open(t, name)
	mustMap(t, f)
	return f
}

// openUnclosed opens and maps name. Only the caller, or the garbage collector, closes it.
func openUnclosed(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	mustMap(t, f)
	return f
}

// TestChildProcess is the entry point of child processes. It tests nothing.
func TestChildProcess(t *testing.T) { filetest.ChildProcess(t) }
