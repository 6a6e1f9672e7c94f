package ostest

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
)

func TestLen_AfterFullDisk(t *testing.T) {
	name := filepath.Join(filetest.SmallDisk(t), "file")
	filetest.Write(t, name, filetest.Pattern(100))
	f := filetest.Open(t, name)
	if n := f.Len(); n != 100 {
		t.Fatal(n)
	}
	if _, err := f.WriteAt(make([]byte, 2<<20), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.Len(); int64(n) != fi.Size() || n == 100 {
		t.Errorf("Len is %d, the file has %d bytes", n, fi.Size())
	}
}

// A tmpfs allows the largest length, which is not that of a file without one.
func TestLen_Largest(t *testing.T) {
	t.Parallel()
	name := filepath.Join(filetest.Tmpfs(t, "1m"), "file")
	filetest.Write(t, name, nil)
	f := filetest.Open(t, name)
	for _, size := range []int64{math.MaxInt64 - 1, math.MaxInt64} {
		if err := f.Truncate(size); err != nil {
			t.Skip(err)
		}
		if n := f.Len(); n != size {
			t.Errorf("Len is %d, the file has %d bytes", n, size)
		}
	}
}
