package ostest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
)

func TestView_FullDisk(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	const size = 4 << 20
	for what, call := range inMemory {
		name := filepath.Join(filetest.SmallDisk(t), "sparse")
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		f := filetest.Open(t, name)
		err := call(f, size, func(p []byte) error {
			for i := range p {
				p[i] = 1
			}
			return nil
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() != size {
			t.Errorf("%s: the file is %v, %v", what, fi, err)
		}
	}
}

// The fault is found when the file has its length again.
func TestView_TruncatedAndExtended(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	const size = 1 << 20
	for what, call := range inMemory {
		name := filepath.Join(t.TempDir(), "data")
		filetest.Write(t, name, filetest.Pattern(size))
		f := filetest.Open(t, name)
		err := call(f, size, func(p []byte) error {
			defer os.Truncate(name, size)
			if err := os.Truncate(name, 0); err != nil {
				t.Error(err)
			}
			p[size/2]++
			return nil
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A panic that is no fault of the file reads nothing of it. On a tmpfs that would allocate
// the whole range.
func TestView_NilDereferenceOfLargeRange(t *testing.T) {
	t.Parallel()
	filetest.NeedFaultAddresses(t)
	if !filetest.CanMap {
		t.Skip("View is given a copy")
	}
	const size = 256 << 20
	name := filepath.Join(t.TempDir(), "sparse")
	filetest.Write(t, name, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	f := filetest.Open(t, name)
	var nowhere *[64]byte
	got := filetest.Recovered(func() {
		err := f.View(0, size, func(p []byte) error { filetest.LoadSink.Add(uint32(nowhere[len(p)%64])); return nil })
		t.Errorf("View returned %v", err)
	})
	if !filetest.IsRuntimeError("nil pointer")(got) {
		t.Errorf("the panic is %T %v", got, got)
	}
	if n, err := f.Resident(0, size); err != nil || n > size/8 {
		t.Errorf("%d MiB of it are in memory: %v", n>>20, err)
	}
}
