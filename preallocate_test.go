package mmapfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// The tests of OpenFile with a size, an argument that os.OpenFile does not have.

func TestOpenFile_Size(t *testing.T) {
	old := filetest.PatternWithZeros(100)
	for _, x := range []struct {
		name string
		old  []byte // nil: there is no file
		flag int
		size int64
		want []byte
	}{
		{"new", nil, os.O_RDWR | os.O_CREATE, 3*page + 5, make([]byte, 3*page+5)},
		{"new, exclusive", nil, os.O_RDWR | os.O_CREATE | os.O_EXCL, 10, make([]byte, 10)},
		{"longer", old, os.O_RDWR, page + 1, append(bytes.Clone(old), make([]byte, page+1-100)...)},
		{"write-only", old, os.O_WRONLY, 200, append(bytes.Clone(old), make([]byte, 100)...)},
		{"long enough", old, os.O_RDWR, 50, old},
		{"as long", old, os.O_RDWR, 100, old},
		{"zero", old, os.O_RDWR, 0, old},
		{"read-only and long enough", old, os.O_RDONLY, 100, old},
		{"emptied", old, os.O_RDWR | os.O_TRUNC, 300, make([]byte, 300)},
		{"emptied, shorter", old, os.O_RDWR | os.O_TRUNC, 30, make([]byte, 30)},
		{"emptied, size 0", old, os.O_RDWR | os.O_TRUNC, 0, nil},
		{"create what is there", old, os.O_RDWR | os.O_CREATE, 120, append(bytes.Clone(old), make([]byte, 20)...)},
	} {
		path := filepath.Join(filetest.Dir(t), "data")
		if x.old != nil {
			if err := os.WriteFile(path, x.old, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := mmapfile.OpenFile(path, x.flag, 0o644, x.size)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if f.Len() != len(x.want) {
			t.Errorf("%s: Len is %d, want %d", x.name, f.Len(), len(x.want))
		}
		if pos, err := f.Seek(0, 1); pos != 0 || err != nil {
			t.Errorf("%s: the cursor is at %d, %v", x.name, pos, err)
		}
		f.Close()
		filetest.SameBytes(t, x.name, filetest.Read(t, path), x.want)
	}
}

func TestOpenFile_ImpossibleSize(t *testing.T) {
	old := filetest.PatternWithZeros(100)
	for _, x := range []struct {
		name    string
		there   bool
		flag    int
		size    int64
		invalid bool
	}{
		{"negative", true, os.O_RDWR, -1, true},
		{"negative, emptied", true, os.O_RDWR | os.O_TRUNC, -1, true},
		{"negative, new", false, os.O_RDWR | os.O_CREATE, -1 << 63, true},
		{"read-only and too short", true, os.O_RDONLY, 101, true},
		{"read-only, new", false, os.O_RDONLY | os.O_CREATE, 1, true},
		{"absurd", true, os.O_RDWR, 1 << 62, false},
		{"absurd, emptied", true, os.O_RDWR | os.O_TRUNC, 1 << 62, false},
		{"absurd, create", true, os.O_RDWR | os.O_CREATE | os.O_TRUNC, 1<<63 - 1, false},
		{"absurd, write-only", true, os.O_WRONLY, 1 << 62, false},
		{"absurd, new", false, os.O_RDWR | os.O_CREATE, 1 << 62, false},
		{"absurd, new, exclusive", false, os.O_RDWR | os.O_CREATE | os.O_EXCL, 1 << 62, false},
	} {
		path := filepath.Join(filetest.Dir(t), "data")
		if x.there {
			if err := os.WriteFile(path, old, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := mmapfile.OpenFile(path, x.flag, 0o644, x.size)
		if err == nil {
			t.Errorf("%s: no error", x.name)
			f.Close()
			continue
		}
		pe, ok := err.(*fs.PathError)
		if f != nil || !ok || pe.Path != path || x.invalid && (pe.Op != "open" || !errors.Is(err, fs.ErrInvalid)) {
			t.Errorf("%s: %v, %#v", x.name, f, err)
		}
		if x.there {
			filetest.SameBytes(t, "the file", filetest.Read(t, path), old)
		} else if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was left (%v)", x.name, err)
		}
	}
}

func TestOpenFile_SizeKeepsErrors(t *testing.T) {
	dir := filetest.Dir(t)
	there := filepath.Join(dir, "there")
	os.WriteFile(there, nil, 0o644)
	for _, x := range []struct {
		path string
		flag int
		want error
	}{
		{filepath.Join(dir, "missing"), os.O_RDWR, fs.ErrNotExist},
		{there, os.O_RDWR | os.O_CREATE | os.O_EXCL, fs.ErrExist},
	} {
		f, err := mmapfile.OpenFile(x.path, x.flag, 0o644, 10)
		if f != nil || !errors.Is(err, x.want) {
			t.Errorf("%s: %v, %v; want %v", filepath.Base(x.path), f, err, x.want)
		}
	}
}

func TestOpenFile_SizeIsAllocated(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counted on Linux only")
	}
	const size = 1 << 20
	path := filepath.Join(filetest.Dir(t), "data")
	f, err := mmapfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644, size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	blocks := reflect.ValueOf(fi.Sys()).Elem().FieldByName("Blocks").Int()
	if blocks*512 < size {
		t.Errorf("%d blocks are allocated for %d bytes", blocks, size)
	}
}

// A failed call removes the file that it has created, also through a symbolic link.
func TestOpenFile_SizeThroughDanglingLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("wine does not create the target of a dangling link")
	}
	dir := filetest.Dir(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "target")
	for link, to := range map[string]string{"absolute": target, "relative": "target", "twice": "relative", "sub/up": "../target"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	for _, link := range []string{"absolute", "relative", "twice", "sub/up"} {
		link = filepath.Join(dir, filepath.FromSlash(link))
		f, err := mmapfile.OpenFile(link, os.O_RDWR|os.O_CREATE, 0o644, 1<<62)
		var pe *fs.PathError
		if f != nil || !errors.As(err, &pe) || pe.Path != link {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the target was left (%v)", link, err)
			os.Remove(target)
		}
		if _, err := os.Lstat(link); err != nil {
			t.Errorf("%s: the link is gone (%v)", link, err)
		}
		// A size that fits is created at the target.
		f, err = mmapfile.OpenFile(link, os.O_RDWR|os.O_CREATE, 0o644, 100)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != link {
			t.Errorf("%s: the name is %s", link, f.Name())
		}
		f.Close()
		filetest.SameBytes(t, "the file", filetest.Read(t, target), make([]byte, 100))
		// An existing target stays.
		if _, err := mmapfile.OpenFile(link, os.O_RDWR|os.O_CREATE, 0o644, 1<<62); err == nil {
			t.Errorf("%s: no error", link)
		}
		filetest.SameBytes(t, "the file", filetest.Read(t, target), make([]byte, 100))
		os.Remove(target)
	}
}

// A failed OpenFile with a size keeps what other handles append meanwhile.
func TestOpenFile_FailedSizeKeepsAppends(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	open := func() {
		t.Helper()
		if f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, math.MaxInt64-1); err == nil {
			f.Close()
			t.Fatal("OpenFile with a size of 2^63 bytes succeeded")
		}
	}
	open()
	if fi, err := os.Stat(name); err != nil || mmapfile.CanMap && !fi.ModTime().Equal(before.ModTime()) {
		t.Errorf("the time moved from %v to %v: %v", before.ModTime(), fi.ModTime(), err)
	}
	if runtime.GOOS != "linux" { // other systems extend the file to try the size, see writeZeros
		return
	}
	w, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	done := make(chan int64)
	stop := make(chan bool)
	go func() {
		written := int64(100)
		for {
			select {
			case <-stop:
				done <- written
				return
			default:
				n, _ := w.Write([]byte("line\n"))
				written += int64(n)
			}
		}
	}()
	for range 500 {
		open()
	}
	close(stop)
	if want := <-done; int64(len(filetest.Read(t, name))) != want {
		t.Errorf("the file has %d bytes of %d", len(filetest.Read(t, name)), want)
	}
}
