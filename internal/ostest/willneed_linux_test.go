package ostest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// openCold opens a file for reading of which nothing is in memory.
func openCold(t *testing.T, name string) *mmapfile.File {
	t.Helper()
	if !filetest.CanMap || filetest.Emulator != "" {
		t.Skip("nothing is read ahead")
	}
	o, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Sync(); err != nil { // dirty pages stay
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(o.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	f := filetest.OpenFile(t, name, os.O_RDONLY)
	if n, err := f.Resident(0, 1<<62); err != nil || n != 0 {
		t.Skip("the file system keeps its pages: ", n, err)
	}
	return f
}

// mustBecomeResident waits until the n bytes at off are in memory, but for a sixteenth: a kernel that is
// short of memory may leave out some of what it was only advised to read.
func mustBecomeResident(t *testing.T, f *mmapfile.File, off, n int64) {
	t.Helper()
	var got int64
	var err error
	if !filetest.Eventually(func() bool { got, err = f.Resident(off, n); return got >= n-n/16 || err != nil }) || err != nil {
		t.Fatalf("%d of %d bytes at %d are in memory: %v", got, n, off, err)
	}
}

// One call asks for no more than what the queue of a device takes.
func TestAdvise_WillNeedBound(t *testing.T) {
	t.Parallel()
	const bound, size = 32 << 20, 40 << 20
	f := openCold(t, filetest.Temp(t, filetest.Pattern(size)))
	if err := f.Advise(0, size, mmapfile.WillNeed); err != nil {
		t.Fatal(err)
	}
	mustBecomeResident(t, f, 0, bound)
	if n, err := f.Resident(bound, size-bound); err != nil || n != 0 {
		t.Errorf("%d bytes after the bound are in memory: %v", n, err)
	}
	if err := f.Advise(bound, size, mmapfile.WillNeed); err != nil {
		t.Fatal(err)
	}
	mustBecomeResident(t, f, bound, size-bound)
}

// The holes of a file, and blocks that were never written, do not fill memory with zeros. The
// cursor stays.
func TestAdvise_WillNeedHoles(t *testing.T) {
	t.Parallel()
	const size, data = 30 << 20, 1 << 20
	at := []int64{data, 10 << 20, 20<<20 + 4096}
	name := filepath.Join(t.TempDir(), "sparse")
	o, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(o.Fd()), 0, 4<<20, 2<<20); err != nil {
		t.Skip(err)
	}
	for _, off := range at {
		if _, err := o.WriteAt(filetest.Pattern(data), off); err != nil {
			t.Fatal(err)
		}
	}
	f := openCold(t, name)
	if _, err := f.Seek(1234, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Advise(0, size, mmapfile.WillNeed); err != nil {
		t.Fatal(err)
	}
	for _, off := range at {
		mustBecomeResident(t, f, off, data)
	}
	if n, err := f.Resident(0, size); err != nil || n > 2*data*int64(len(at)) {
		t.Errorf("%d bytes of holes are in memory: %v", n-data*int64(len(at)), err)
	}
	if off, err := f.Seek(0, 1); err != nil || off != 1234 {
		t.Errorf("the cursor is at %d: %v", off, err)
	}
}
