package ostest

import (
	"bytes"
	"errors"
	"io"
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
		if f.Len() != int64(len(x.want)) {
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
	if fi, err := os.Stat(name); err != nil || filetest.CanMap && !fi.ModTime().Equal(before.ModTime()) {
		t.Errorf("the time moved from %v to %v: %v", before.ModTime(), fi.ModTime(), err)
	}
	if !filetest.CanMap && runtime.GOOS != "linux" {
		return // these systems try the size, see mayHaveLength
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

// Reads alone map the file, also on Windows. All calls have the results of os.File.
func TestImmutable_Reads(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	content := filetest.PatternWithZeros(3*page + 17)
	name := filetest.Temp(t, content)
	f := mustOpenImmutable(t, name)
	readOften(t, f)
	if filetest.Mapped(f) != filetest.CanMap {
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
			if size%page != 0 && off/page == size/page && n == len(b) && err == nil {
				continue // the rest of its last page may still be mapped, as on tmpfs
			}
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

func TestNew_Nil(t *testing.T) {
	if f, err := mmapfile.New(nil); f != nil || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("New(nil) is %v, %v", f, err)
	}
}

func TestOpenRoot_Nil(t *testing.T) {
	if f, err := mmapfile.OpenRoot(nil, "data", os.O_RDONLY, 0); f != nil || err != os.ErrInvalid {
		t.Errorf("%v, %v", f, err)
	}
}
