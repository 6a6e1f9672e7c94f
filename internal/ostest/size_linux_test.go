package ostest

import (
	"errors"
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
