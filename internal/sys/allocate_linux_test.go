package sys_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/sys"
)

// A file with many extents has all its blocks, until it grows by a hole.
func TestCheckBlocks_ManyExtents(t *testing.T) {
	const size, piece = 1 << 20, 8 << 10
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := sys.Allocate(f, size); err != nil {
		t.Fatal(err)
	}
	for off := int64(0); off < size; off += 2 * piece { // written and unwritten parts are extents of their own
		if _, err := f.WriteAt(make([]byte, piece), off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	check := func(off int64) error {
		return sys.Borrow(f, func(fd int) error { return sys.CheckBlocks(fd, off, size) })
	}
	if err := check(0); err != nil {
		t.Errorf("all blocks are allocated: %v", err)
	}
	if err := f.Truncate(2 * size); err != nil {
		t.Fatal(err)
	}
	if check(size/2) == nil {
		t.Error("half of the range is a hole, and CheckBlocks returns nil")
	}
}
