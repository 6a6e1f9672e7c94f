package ostest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.dw1.io/mmapfile"
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

// A store of the loop's body past a truncation by another program does not prove that the file has the byte.
func TestChunks_StoreBesideTruncation(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	name := filetest.Temp(t, bytes.Repeat([]byte{1}, 3*page))
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		for _, err := range f.Chunks(page) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for c, err := range f.Chunks(page) {
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
		for i := range c.Data {
			c.Data[i] ^= 0x55
		}
		break
	}
	for c, err := range f.Chunks(page) {
		if err != nil || len(c.Data) != 100 {
			t.Errorf("a window of %d bytes of a file of 100, %v", len(c.Data), err)
		}
		break
	}
}
