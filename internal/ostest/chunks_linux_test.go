package ostest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
)

// A tmpfs has files that no address space has room for. A window of one is an error, and does
// not end the process.
func TestChunks_LargerThanMemory(t *testing.T) {
	t.Parallel()
	if strconv.IntSize == 32 {
		t.Skip("no window is longer than memory may be")
	}
	for _, bits := range []int{47, 55} { // the runtime ends the process, or panics
		size := int64(1) << bits
		name := filepath.Join(tmpfs(t), "sparse")
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Skip(err)
		}
		f := filetest.OpenFile(t, name, os.O_RDONLY)
		for c, err := range f.Chunks(int(size)) {
			var pe *fs.PathError
			if !errors.As(err, &pe) || !errors.Is(err, errors.ErrUnsupported) || c.Data != nil {
				t.Errorf("%d bytes: %d bytes, %v", size, len(c.Data), err)
			}
		}
		n := 0
		for c, err := range f.Chunks(1 << 16) { // copies
			if err != nil || len(c.Data) != 1<<16 {
				t.Fatal(len(c.Data), err)
			}
			if n++; n == 10 {
				break
			}
		}
		if filetest.Mapped(f) {
			t.Skip("this machine has the address space")
		}
	}
}
