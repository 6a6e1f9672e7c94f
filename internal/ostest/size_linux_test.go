package ostest

import (
	"bytes"
	"errors"
	"io"
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

// Many calls of the last bytes that a file may have are as those of os.File: the offset after them is none that a file has.
func TestReadAt_LargestOffsets(t *testing.T) {
	t.Parallel()
	dir := filetest.Tmpfs(t, "4m")
	name, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	filetest.Write(t, name, nil)
	filetest.Write(t, other, nil)
	want, err := os.OpenFile(other, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	f := filetest.Open(t, name)
	for _, off := range []int64{math.MaxInt64 - 3*64<<10, math.MaxInt64 - 64<<10, math.MaxInt64 - 70, math.MaxInt64 - 64, math.MaxInt64 - 5} {
		for i := range 400 {
			var n, wantN int
			var err, wantErr error
			got, b := make([]byte, 64), bytes.Repeat([]byte{byte(i)}, 64)
			wanted := bytes.Clone(got)
			switch i % 4 {
			case 0:
				n, err = f.WriteAt(b, off)
				wantN, wantErr = want.WriteAt(b, off)
			case 1:
				n, err = f.ReadAt(got, off)
				wantN, wantErr = want.ReadAt(wanted, off)
			case 2:
				f.Seek(off, io.SeekStart)
				want.Seek(off, io.SeekStart)
				n, err = f.Write(b)
				wantN, wantErr = want.Write(b)
			case 3:
				f.Seek(off, io.SeekStart)
				want.Seek(off, io.SeekStart)
				n, err = f.Read(got)
				wantN, wantErr = want.Read(wanted)
			}
			if n != wantN || (err == nil) != (wantErr == nil) || (err == io.EOF) != (wantErr == io.EOF) || !bytes.Equal(got, wanted) {
				t.Fatalf("at %d, kind %d: %d, %v, want %d, %v; %x, want %x", off, i%4, n, err, wantN, wantErr, got, wanted)
			}
		}
	}
}
