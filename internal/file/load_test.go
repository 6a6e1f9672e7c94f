package file

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/pages"
)

// randomBytes returns n random bytes. Only the last one is fixed: it is not zero.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	if n > 0 {
		b[n-1] = 1
	}
	return b
}

// One call reads or writes any number of bytes of a mapped file.
func TestReadAt_MappedSizes(t *testing.T) {
	t.Parallel()
	const off, piece = 5000, 8 << 20
	f, _ := mappedFile(t, 2*piece+20_000)
	src := randomBytes(2*piece + 7)
	for _, n := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 4<<20 - 1, 4 << 20, 4<<20 + 1, piece + 3, 2*piece + 7} {
		prefaultAll(f)
		for range 3 { // the first one is a system call
			clear(f.Bytes())
			if got, err := f.WriteAt(src[:n], off); got != n || err != nil {
				t.Fatalf("WriteAt of %d bytes: %d, %v", n, got, err)
			}
		}
		b := make([]byte, n)
		if got, err := f.ReadAt(b, off); got != n || err != nil || !bytes.Equal(b, src[:n]) {
			t.Errorf("ReadAt of %d bytes: %d, %v, or wrong bytes", n, got, err)
		}
		clear(b)
		if ok, _ := f.load(f.m.Load(), b, off); n > 0 && (!ok || !bytes.Equal(b, src[:n])) {
			t.Errorf("load of %d bytes failed, or wrong bytes", n)
		}
		if p := f.Bytes(); !bytes.Equal(p[off:off+n], src[:n]) || p[off-1] != 0 || p[off+n] != 0 {
			t.Errorf("WriteAt of %d bytes: wrong bytes", n)
		}
	}
}

// What no program changes needs no proof that it is still there: zeros at the end are copied from the
// mapping, and the end itself is known. The inner file is closed, so no system call can answer.
func TestReadAt_ImmutableAsksNothing(t *testing.T) {
	t.Parallel()
	if !canMap {
		t.Skip("nothing is mapped here")
	}
	name := filepath.Join(TempDir(t), "file")
	size := int64(2*pageSize + 100)
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Options{Immutable: true}.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	HoldPages(t)
	if f.Bytes() == nil || f.m.Load().usable == 0 {
		t.Skip("the file is not mapped here")
	}
	f.pages.Note(pages.Ready, 0, size)
	f.Seek(0, io.SeekStart) // the File takes the cursor
	CloseInner(f)
	b := make([]byte, 64)
	for _, c := range []struct {
		off  int64
		n    int
		want error
	}{{0, 64, nil}, {size - 64, 64, nil}, {size - 10, 10, io.EOF}, {size, 0, io.EOF}} {
		if n, err := f.ReadAt(b, c.off); n != c.n || err != c.want {
			t.Errorf("ReadAt(%d): %d, %v; want %d, %v", c.off, n, err, c.n, c.want)
		}
	}
}
