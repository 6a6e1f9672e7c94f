//go:build !nommap

package mmapfile

import (
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/sys"
)

func TestFileOfManyExtentsHasBlocksOfItsOwn(t *testing.T) {
	const size, piece = 1 << 20, 8 << 10
	f, err := OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600, size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); off < size; off += 2 * piece { // what was written is an extent, and what was not
		if _, err := f.WriteAt(make([]byte, piece), off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	own := false
	withFd(f.inner, func(fd int) { own = sys.OwnBlocks(fd, 0, size) })
	if !own {
		t.Error("all of it was allocated")
	}
	if err := f.inner.Truncate(2 * size); err != nil {
		t.Fatal(err)
	}
	withFd(f.inner, func(fd int) {
		if sys.OwnBlocks(fd, size/2, size) {
			t.Error("half of it is a hole")
		}
	})
}
