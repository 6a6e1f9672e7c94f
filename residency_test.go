package mmapfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile/internal/race"
)

// A record that ends in zeros at the end of a page is read from the mapping, once the page after
// it is known. That page proves that the file was not truncated.
func TestReadAt_ZerosBeforeAnUnknownPage(t *testing.T) {
	t.Parallel()
	const off, n = 3*(1<<pageBits) - 64, 64
	f := lazyFile(t, 4*blockSize)
	if _, err := f.inner.WriteAt(make([]byte, n), off); err != nil {
		t.Fatal(err)
	}
	for range trackFrom + mapFrom + readyFrom + 2 {
		readAt(t, f, off, n)
	}
	m := f.m.Load()
	if m == nil || !f.pages.ready(off, n) {
		t.Fatal("not ready after many reads of one place")
	}
	if !f.load(m, make([]byte, n), off) {
		t.Error("not read from the mapping after many reads")
	}
}

// A read of a file that is not regular does not ask for its size.
func TestRead_DeviceInOrder(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	f, err := Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b := make([]byte, 1<<pageBits)
	read := func() {
		if n, err := f.Read(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 * (trackFrom + orderFrom) {
		read()
	}
	if canMap && !split && f.tracks() {
		t.Error("its pages are still noted")
	}
	if allocs := testing.AllocsPerRun(100, read); allocs > 0 && runtime.GOOS != "js" { // os allocates there
		t.Errorf("%v allocations", allocs)
	}
}

// The hint follows the offset of the kernel through copies.
func TestReadFrom_HintFollows(t *testing.T) {
	t.Parallel()
	name := filepath.Join(TempDir(t), "src")
	if err := os.WriteFile(name, make([]byte, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flush := range []int64{0, 64 << 10} {
		src, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		dst, err := Options{Flush: FlushPolicy{Bytes: flush}}.OpenFile(name+"-copy", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer dst.Close()
		if n, err := io.Copy(dst, src); n != 300_000 || err != nil {
			t.Fatal(n, err)
		}
		for _, f := range []*File{src, dst} {
			pos, err := f.inner.Seek(0, io.SeekCurrent)
			if err != nil {
				t.Fatal(err)
			}
			if hint := f.cur.hint.Load(); hint != pos && f.cur.state.Load() == 0 {
				t.Errorf("flush %d: the hint is %d, the kernel's offset %d", flush, hint, pos)
			}
		}
	}
}

// After some calls of Seek the cursor is in the process. The results are those of os.File.
func TestSeek_CursorOfAnUnmappedFile(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*blockSize)
	want, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for i := range int64(3 * trackFrom) {
		off := i * 997
		if pos, err := f.Seek(off, io.SeekStart); pos != off || err != nil {
			t.Fatal(pos, err)
		}
		if n, err := f.Read(b); n != len(b) || err != nil || !bytes.Equal(b, want[off:off+100]) {
			t.Fatalf("Read at %d: %d, %v", off, n, err)
		}
	}
	if f.cur.state.Load() != cursorOurs {
		t.Error("the cursor is still in the kernel")
	}
	end := int64(len(want))
	if pos, err := f.Seek(-5, io.SeekEnd); pos != end-5 || err != nil {
		t.Error(pos, err)
	}
	if n, err := f.Read(b); n != 5 || err != nil {
		t.Errorf("Read before the end: %d, %v", n, err)
	}
	if pos, _ := f.OS().Seek(0, io.SeekCurrent); pos != end {
		t.Errorf("the inner file is at %d, want %d", pos, end)
	}
}
