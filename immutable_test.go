package mmapfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/sys"
)

func TestImmutable_Flags(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR, os.O_APPEND, os.O_CREATE, os.O_TRUNC, os.O_RDWR | os.O_CREATE} {
		for _, private := range []bool{false, true} {
			f, err := mmapfile.Options{Immutable: true, Private: private}.OpenFile(name, flag, 0o644)
			if f != nil || !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("flag %#x, private %v: %v, %v", flag, private, f, err)
			}
		}
	}
	if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, filetest.Pattern(100)) {
		t.Errorf("the file has changed: %d bytes, %v", len(b), err)
	}
	f := mustOpenImmutable(t, name)
	if n, err := f.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("Write: %d, %v", n, err)
	}
	if _, err := (mmapfile.Options{Immutable: true}).OpenFile(name+".none", os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func mustOpenImmutable(t *testing.T, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Options{Immutable: true}.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// readOften reads the first bytes of f often enough that the file is mapped if it may be.
func readOften(t *testing.T, f *mmapfile.File) {
	t.Helper()
	var b [64]byte
	for range 200 {
		if _, err := f.ReadAt(b[:], 0); err != nil {
			t.Fatal(err)
		}
	}
}

// Storage on which no file is mapped for calls is one for which the promise is needed.
func TestImmutable_Storage(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	for _, c := range []struct {
		kind                    sys.Storage
		write, reads, immutable bool
	}{
		{sys.StorageLocal, true, true, true},
		{sys.StorageOverlay, true, false, true},
		{sys.StorageRemote, false, false, true},
		{sys.StorageOnRequest, false, false, true},
		{sys.StorageMemory, true, true, true},
	} {
		if got := mmapfile.MapsOn(filetest.Open(t, name), c.kind, true); got != c.write {
			t.Errorf("kind %d, for writing: %v", c.kind, got)
		}
		if got := mmapfile.MapsOn(filetest.OpenFile(t, name, os.O_RDONLY), c.kind, false); got != c.reads {
			t.Errorf("kind %d, for reading: %v", c.kind, got)
		}
		if got := mmapfile.MapsOn(mustOpenImmutable(t, name), c.kind, false); got != c.immutable {
			t.Errorf("kind %d, immutable: %v", c.kind, got)
		}
	}
}

// Reads alone map the file, also on Windows. All calls have the results of os.File.
func TestImmutable_Reads(t *testing.T) {
	t.Parallel()
	content := filetest.PatternWithZeros(3*page + 17)
	name := filetest.Temp(t, content)
	f := mustOpenImmutable(t, name)
	readOften(t, f)
	if mmapfile.Mapped(f) != mmapfile.CanMap {
		t.Error("not mapped")
	}
	o, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for off := int64(0); off < int64(len(content))+2*page; off += page/3 + 1 {
		got, want := make([]byte, 2*page), make([]byte, 2*page)
		n, err := f.ReadAt(got, off)
		k, werr := o.ReadAt(want, off)
		if n != k || err != werr || !bytes.Equal(got, want) {
			t.Errorf("ReadAt at %d: %d, %v; with os.File %d, %v", off, n, err, k, werr)
		}
	}
	all, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(all, content) {
		t.Errorf("ReadAll: %d bytes, %v", len(all), err)
	}
}

// A broken promise ends no process: the end of the file is found as for every File.
func TestImmutable_Broken(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, bytes.Repeat([]byte{1}, int(8*page)))
	f := mustOpenImmutable(t, name)
	readOften(t, f)
	var b [64]byte
	for _, size := range []int64{5*page + 10, page, 0} {
		if err := os.Truncate(name, size); err != nil {
			t.Skip("this system protects a mapped file: ", err)
		}
		for off := int64(0); off < 8*page; off += page / 2 {
			n, err := f.ReadAt(b[:], off)
			want := min(max(size-off, 0), int64(len(b)))
			if int64(n) != want || (err != nil) != (n < len(b)) || err != nil && err != io.EOF {
				t.Errorf("ReadAt at %d of %d: %d, %v", off, size, n, err)
			}
		}
		err := f.View(0, 8*page, func(p []byte) error {
			_ = append([]byte(nil), p...)
			return nil
		})
		if err == nil {
			t.Errorf("View of a file of %d bytes has no error", size)
		}
	}
}
