package ostest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// sparseStorage returns directories in which reading a hole of a mapping allocates memory: a tmpfs,
// and an overlay on one.
func sparseStorage(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"tmpfs":   filetest.Tmpfs(t, "64m"),
		"overlay": filepath.Dir(mountOverlayIn(t, filetest.Tmpfs(t, "64m"), nil)),
	}
}

// sparseFile makes a file of holes with some data at its start.
func sparseFile(t *testing.T, dir string, size int64, data []byte) (name string) {
	t.Helper()
	name = filepath.Join(dir, "sparse")
	filetest.Write(t, name, data)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

// allocated returns how many bytes of the file system that has name are in use.
func allocated(t *testing.T, name string) int64 {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(name, &fs); err != nil {
		t.Fatal(err)
	}
	return int64(fs.Blocks-fs.Bfree) * int64(fs.Bsize)
}

// readPasses reads all of f some times with each size of calls.
func readPasses(t *testing.T, f filetest.File, size int64) {
	t.Helper()
	for _, n := range []int64{100, 64 << 10} {
		b := make([]byte, n)
		for range 8 {
			for off := int64(0); off < size; off += max(n, 4<<10) {
				if k, err := f.ReadAt(b, off); int64(k) != n || err != nil {
					t.Fatal(k, err)
				}
			}
		}
	}
}

// Reads of holes allocate nothing, however often they come back, as with os.File.
func TestReadAt_HolesStay(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	const size = 32 << 20
	data := filetest.Pattern(1 << 20)
	for storage, dir := range sparseStorage(t) {
		name := sparseFile(t, dir, size, data)
		before := allocated(t, name)
		f := filetest.Open(t, name)
		readPasses(t, f, size)
		if after := allocated(t, name); after != before {
			t.Errorf("%s: reads have allocated %d bytes", storage, after-before)
		}
		if !filetest.Mapped(f) && filetest.CanMap && storage == "tmpfs" {
			t.Errorf("%s: data that is read again and again is not mapped", storage)
		}
		got := make([]byte, len(data))
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: the content has changed: %v", storage, err)
		}
	}
}

// The same for a private File. What it has written into a hole stays, whatever becomes of the file.
func TestReadAt_PrivateHolesStay(t *testing.T) {
	t.Parallel()
	if !filetest.CanMap {
		t.Skip("no file is mapped here")
	}
	const size = 32 << 20
	data := filetest.Pattern(100_000)
	for storage, dir := range sparseStorage(t) {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
			name := sparseFile(t, dir, size, data)
			before := allocated(t, name)
			f, err := mmapfile.Options{Private: true}.OpenFile(name, flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			readPasses(t, f, size)
			if after := allocated(t, name); after != before {
				t.Errorf("%s, flag %d: reads have allocated %d bytes", storage, flag, after-before)
			}
			got := make([]byte, len(data))
			if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: the content is not that of the file: %v", storage, err)
			}
			if flag == os.O_RDONLY {
				continue
			}
			const at = 8<<20 + 50 // in a hole, across the end of a page
			want := filetest.Pattern(10_000)
			if _, err := f.WriteAt(want, at); err != nil {
				t.Fatal(err)
			}
			err = f.View(at+1<<20, 10, func(p []byte) error { copy(p, "0123456789"); return nil })
			if err != nil {
				t.Fatal(err)
			}
			punchHoles(t, name, size) // what the stores have allocated
			got = make([]byte, 10_000+200)
			if _, err := f.ReadAt(got, at-100); err != nil || !bytes.Equal(got[100:10_100], want) || len(bytes.Trim(got[:100], "\x00"))+len(bytes.Trim(got[10_100:], "\x00")) > 0 {
				t.Errorf("%s: what was written into a hole is lost: %v", storage, err)
			}
			if _, err := f.ReadAt(got[:10], at+1<<20); err != nil || string(got[:10]) != "0123456789" {
				t.Errorf("%s: what was stored into a hole is %q, %v", storage, got[:10], err)
			}
			if b := filetest.Read(t, name); len(bytes.Trim(b, "\x00")) > 0 {
				t.Errorf("%s: a private File has written to its file", storage)
			}
			p := f.Bytes()
			if p == nil {
				t.Fatal("Bytes is nil")
			}
			copy(p[20<<20:], "stored") // into another hole
			punchHoles(t, name, size)
			if _, err := f.ReadAt(got[:6], 20<<20); err != nil || string(got[:6]) != "stored" {
				t.Errorf("%s: what was stored through Bytes is %q, %v", storage, got[:6], err)
			}
			if _, err := f.ReadAt(got, at-100); err != nil || !bytes.Equal(got[100:10_100], want) {
				t.Errorf("%s: what was written into a hole is lost after Bytes: %v", storage, err)
			}
		}
	}
}

// punchHoles frees all of a file.
func punchHoles(t *testing.T, name string, size int64) {
	t.Helper()
	w, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := unix.Fallocate(int(w.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size); err != nil {
		t.Skip("no holes can be punched here: ", err)
	}
}
