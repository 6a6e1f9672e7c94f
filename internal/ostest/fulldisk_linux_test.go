package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// sparseOnFullDisk makes n sparse files of the same size, and fills the disk in pieces of 4 KiB.
// With leave set, it writes the filling in large pieces, which leave some blocks.
func sparseOnFullDisk(t *testing.T, dir string, n int, size int64, leave bool) (names []string) {
	t.Helper()
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint("sparse", i))
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	fill := filepath.Join(dir, "fill")
	if !leave {
		filetest.FillDisk(t, fill)
		return names
	}
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 1<<20))
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return names
}

// needMemoryOfDisk skips a test of what a full disk does to memory.
func needMemoryOfDisk(t *testing.T) {
	t.Helper()
	if !filetest.CanMap {
		t.Skip("memory is not the file's in this build")
	}
	if filetest.Emulator != "" {
		t.Skip("qemu-user ignores this advice")
	}
}

func TestAdvise_PopulateFullDisk(t *testing.T) {
	t.Parallel()
	needMemoryOfDisk(t)
	for kind, dir := range map[string]string{"tmpfs": filetest.SmallDisk(t), "xfs": filetest.XFS(t)} {
		for i, size := range []int64{4 << 20, 4<<20 - 100} {
			sub := filepath.Join(dir, fmt.Sprint("size", i))
			os.RemoveAll(filepath.Join(dir, fmt.Sprint("size", i-1)))
			if err := os.Mkdir(sub, 0o777); err != nil {
				t.Fatal(err)
			}
			for _, name := range sparseOnFullDisk(t, sub, 4, size, i == 1) {
				for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
					f := filetest.OpenFile(t, name, flag)
					err := f.Advise(0, size, mmapfile.PopulateRead)
					if kind == "xfs" && err != nil || kind == "tmpfs" && !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("%s, %d bytes with flag %d: PopulateRead: %v", kind, size, flag, err)
					}
					if err := f.Advise(0, size, mmapfile.PopulateWrite); flag == os.O_RDWR && !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("%s, %d bytes: PopulateWrite: %v", kind, size, err)
					}
				}
			}
		}
	}
}

// On a full xfs the allocation of one block may succeed where a store does not, and a store
// needs as many blocks as its folio has. That is no truncation, and no failure of the device.
func TestView_FullXFS(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	needMemoryOfDisk(t)
	const size = 4 << 20
	for _, leave := range []bool{false, true} {
		for i, name := range sparseOnFullDisk(t, filetest.XFS(t), 16, size, leave) {
			for what, call := range inMemory {
				f := filetest.Open(t, name)
				err := call(f, size, func(p []byte) error {
					for i := range p {
						p[i] = 1
					}
					return nil
				})
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s of file %d, some blocks left %v: %v", what, i, leave, err)
				}
				f.Close()
			}
		}
	}
}

// A private File of a full tmpfs: reads give the zeros of its holes, as with os.File, and what needs
// memory says that the disk is full.
func TestReadAt_PrivateFullDisk(t *testing.T) {
	if !filetest.CanMap {
		t.Skip("a private File has memory of its own here")
	}
	dir := filetest.SmallDisk(t)
	name := filepath.Join(dir, "file")
	filetest.Write(t, name, []byte("content"))
	if err := os.Truncate(name, 1<<20); err != nil {
		t.Fatal(err)
	}
	filetest.FillDisk(t, filepath.Join(dir, "fill"))
	f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := bytes.Repeat([]byte{1}, 100_000)
	if n, err := f.ReadAt(got, 3); n != len(got) || err != nil {
		t.Fatalf("ReadAt: %d, %v", n, err)
	}
	if want := append([]byte("tent"), make([]byte, len(got)-4)...); !bytes.Equal(got, want) {
		t.Error("ReadAt gives other bytes")
	}
	for _, a := range []mmapfile.Advice{mmapfile.PopulateRead, mmapfile.PopulateWrite} {
		if err := f.Advise(0, 1<<20, a); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Advise(%v): %v", a, err)
		}
	}
	if _, err := f.WriteAt(make([]byte, 5000), 500_000); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt: %v", err)
	}
}
