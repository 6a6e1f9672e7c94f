package ostest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// The pages of a sparse file take memory only if calls came to them.
// Not parallel: it measures the memory of the process.
func TestReadAt_SparseFileOf16TiB(t *testing.T) {
	if strconv.IntSize == 32 || filetest.Emulator != "" {
		t.Skip("no address space for 16 TiB")
	}
	const end = 16<<40 - 4096 // the largest file of ext4
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "sparse")
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, end); err != nil {
			t.Logf("%s: %v", parent, err)
			continue
		}
		before, err := filetest.ProcessStatus("RssAnon")
		if err != nil {
			t.Skip(err)
		}
		f := filetest.Open(t, name)
		data, b := filetest.Pattern(1000), make([]byte, 1000)
		for round := range 300 { // often enough to be mapped, read and written
			for _, off := range []int64{0, 1 << 32, 5<<40 + 777, end - 1000} {
				if n, err := f.WriteAt(data, off); n != len(data) || err != nil {
					t.Fatalf("%s, round %d: WriteAt %d: %d, %v", parent, round, off, n, err)
				}
				clear(b)
				if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, data) {
					t.Fatalf("%s, round %d: ReadAt %d: %d, %v", parent, round, off, n, err)
				}
			}
		}
		if n, err := f.ReadAt(b, end-10); n != 10 || err != io.EOF {
			t.Errorf("%s: ReadAt over the end: %d, %v", parent, n, err)
		}
		if filetest.CanMap && !race.Detector {
			if err := f.View(end-1000, 1000, func(p []byte) error { filetest.SameBytes(t, "View", p, data); return nil }); err != nil {
				t.Errorf("%s: View of the end: %v", parent, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		after, err := filetest.ProcessStatus("RssAnon")
		if err != nil {
			t.Fatal(err)
		}
		if grown := after - before; grown > 100<<20 { // a bit for each page is 512 MiB
			t.Errorf("%s: the process grew by %d MiB", parent, grown>>20)
		}
		os.Remove(name)
	}
}

// mountOverlay mounts an overlay whose lower layer has a file, and returns the file's name.
func mountOverlay(t testing.TB, content []byte) (name string) {
	t.Helper()
	return mountOverlayIn(t, t.TempDir(), content)
}

// mountOverlayIn is mountOverlay with the layers in dir.
func mountOverlayIn(t testing.TB, dir string, content []byte) (name string) {
	t.Helper()
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, filepath.Join(dir, "lower", "f"), content)
	merged := filepath.Join(dir, "merged")
	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := syscall.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skip("an overlay can only be mounted by root: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(merged, unix.MNT_DETACH) })
	return filepath.Join(merged, "f")
}

// A mapping on overlayfs that is older than the first writer shows the lower file. ReadAt must
// return the upper file, as os.File does.
func TestReadAt_OverlayfsCopyUp(t *testing.T) {
	t.Parallel()
	name := mountOverlay(t, bytes.Repeat([]byte("old "), 4096))
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	got := make([]byte, 8)
	for range 200 {
		if _, err := f.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
	}
	w, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteAt([]byte("NEW!NEW!"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != "NEW!NEW!" {
		t.Errorf("ReadAt: %q, %v", got, err)
	}
}

// The page cache that an overlay's descriptor shows is that of another file.
func TestResident_Overlayfs(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	name := mountOverlay(t, nil)
	filetest.Write(t, name, bytes.Repeat([]byte{1}, size))
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		f, err := mmapfile.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n, err := f.ReadAt(make([]byte, size), 0); n != size {
			t.Fatal(n, err)
		}
		if n, err := f.Resident(0, size); n != size || err != nil {
			if errors.Is(err, errors.ErrUnsupported) && mayLack("Resident") {
				t.Skip(err)
			}
			t.Errorf("flag %#x: %d of %d bytes are in memory, %v", flag, n, size, err)
		}
	}
}
