package mmapfile_test

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
	"unsafe"

	"go.dw1.io/mmapfile"
)

// What File has beyond *os.File, and the shape that lets it stand in for one. What the two
// have in common is compared in the parity tests.

func mustOpen(t testing.TB, path string, flag int) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(path, flag, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// wantContent checks what others see of the file.
func wantContent(t testing.TB, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("content is %s, %v; want %s", show(got), err, show(want))
	}
}

func TestFileHasEveryMethodOfOSFile(t *testing.T) {
	ours, theirs := reflect.TypeFor[*mmapfile.File](), reflect.TypeFor[*os.File]()
	for i := range theirs.NumMethod() {
		want := theirs.Method(i)
		got, ok := ours.MethodByName(want.Name)
		if want.Name == "PollFD" {
			continue // on wasip1, for net alone: nobody else can name its type
		}
		if !ok {
			t.Errorf("there is no %s", want.Name)
			continue
		}
		sig := func(m reflect.Method) (s []reflect.Type) {
			for i := 1; i < m.Type.NumIn(); i++ {
				s = append(s, m.Type.In(i))
			}
			for i := range m.Type.NumOut() {
				s = append(s, m.Type.Out(i))
			}
			return s
		}
		if !reflect.DeepEqual(sig(got), sig(want)) {
			t.Errorf("%s is %v, want %v", want.Name, got.Type, want.Type)
		}
	}
}

func TestFileIsOnePointerAndItsCopiesShareTheCursor(t *testing.T) {
	if got := unsafe.Sizeof(mmapfile.File{}); got != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("File is %d bytes", got)
	}
	data := patternBytes(3 * page)
	f := mustOpen(t, writeScratch(t, "data", data), os.O_RDONLY)
	twin := *f
	var got []byte
	for range 60 { // maps in between
		for _, g := range []*mmapfile.File{f, &twin} {
			b := make([]byte, 11)
			n, err := g.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b[:n]...)
		}
	}
	if !bytes.Equal(got, data[:len(got)]) {
		t.Error("reads through two copies do not follow one another")
	}
	twin.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read after Close of a copy: %v", err)
	}
}

// The matrix would compare os.File with itself if its states did not do what they say.
func TestStatesOfTheMatrixAreMapped(t *testing.T) {
	path := writeScratch(t, "data", patternBytes(3*page+17))
	for _, st := range states {
		if st.os {
			continue
		}
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
			f := mustOpen(t, path, flag)
			r := &run{t: t, st: st}
			r.track(f, path)
			want := mmapfile.MapsUnasked && (st.warm || st.hot) || mmapfile.CanMap && (st.name == "eager" || st.hot)
			if got := mmapfile.Mapped(f); got != want {
				t.Errorf("state %s, flag %d: mapped %v, want %v", st.name, flag, got, want)
			}
		}
	}
}

func TestOSIsTheInnerFileAtTheSameCursor(t *testing.T) {
	path := writeScratch(t, "data", patternBytes(3*page))
	for _, warm := range []bool{false, true} {
		f := mustOpen(t, path, os.O_RDWR)
		if warm {
			f.Bytes()
		}
		f.Seek(7, io.SeekStart)
		f.Read(make([]byte, 5))
		o := f.OS()
		if pos, err := o.Seek(0, io.SeekCurrent); pos != 12 || err != nil {
			t.Errorf("warm %v: the inner file stands at %d, %v; want 12", warm, pos, err)
		}
		o.Seek(100, io.SeekStart)
		if pos, err := f.Seek(0, io.SeekCurrent); pos != 100 || err != nil {
			t.Errorf("warm %v: File stands at %d, %v; want 100", warm, pos, err)
		}
		if o.Name() != f.Name() {
			t.Errorf("names %q and %q", o.Name(), f.Name())
		}
	}
}

func TestLenFollowsOurOwnCalls(t *testing.T) {
	for _, early := range []bool{false, true} {
		path := writeScratch(t, "data", patternBytes(100))
		f := mustOpen(t, path, os.O_RDWR)
		if early {
			f.Bytes()
		}
		want := func(n int, after string) {
			t.Helper()
			if got := f.Len(); got != n {
				t.Errorf("early %v: Len is %d after %s, want %d", early, got, after, n)
			}
		}
		want(100, "opening")
		f.WriteAt([]byte("xyz"), 150)
		want(153, "WriteAt")
		f.Truncate(20)
		want(20, "Truncate")
		f.Seek(0, io.SeekEnd)
		f.WriteString("more")
		want(24, "WriteString")
		f.ReadFrom(bytes.NewReader(patternBytes(3 * page)))
		want(24+int(3*page), "ReadFrom")
		f.Truncate(0)
		want(0, "Truncate to nothing")
		f.Close()

		f = mustOpen(t, path, os.O_RDWR|os.O_APPEND)
		f.WriteString("some")
		if early {
			f.Bytes()
		}
		want(4, "the first append")
		f.WriteString("more")
		want(8, "an append")
		src, err := os.Open(writeScratch(t, "src", patternBytes(50)))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		f.ReadFrom(src)
		want(58, "an append of a file")
		g := mustOpen(t, path, os.O_RDWR)
		if early {
			g.Bytes()
		}
		g.Len()
		g.Seek(0, io.SeekEnd)
		src.Seek(0, io.SeekStart)
		io.Copy(g, src)
		if g.Len() != 108 {
			t.Errorf("early %v: Len is %d after a copy by the kernel, want 108", early, g.Len())
		}
	}
	var none *mmapfile.File
	if none.Len() != 0 || none.Bytes() != nil {
		t.Error("a nil File has a length or bytes")
	}
}

func TestBytesIsTheWholeFileAndNoMore(t *testing.T) {
	for _, n := range []int64{1, page - 1, page, page + 1, 3*page + 17, 200 << 10} {
		data := patternBytes(n)
		path := writeScratch(t, "data", data)
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
			f := mustOpen(t, path, flag)
			b := f.Bytes()
			if !bytes.Equal(b, data) || cap(b) != len(b) {
				t.Errorf("%d bytes: got %s, capacity %d", n, show(b), cap(b))
			}
			runtime.KeepAlive(f)
		}
	}
}

func TestBytesIsNilWithoutMemoryToShow(t *testing.T) {
	path := writeScratch(t, "data", []byte("content"))
	closed := mustOpen(t, path, os.O_RDONLY)
	closed.Bytes()
	closed.Close()
	for name, f := range map[string]*mmapfile.File{
		"empty":     mustOpen(t, writeScratch(t, "empty", nil), os.O_RDWR),
		"closed":    closed,
		"directory": mustOpen(t, filepath.Dir(path), os.O_RDONLY),
		"nil":       nil,
	} {
		if b := f.Bytes(); b != nil {
			t.Errorf("%s: %d bytes", name, len(b))
		}
	}
	if mmapfile.CanMap { // a copy in memory needs no right to read by mapping
		if b := mustOpen(t, path, os.O_WRONLY).Bytes(); b != nil {
			t.Errorf("write-only: %d bytes", len(b))
		}
	}
}

func TestBytesSharesItsMemoryWithTheCalls(t *testing.T) {
	data := patternBytes(2 * page)
	path := writeScratch(t, "data", data)
	f := mustOpen(t, path, os.O_RDWR)
	b := f.Bytes()
	if int64(len(b)) != 2*page {
		t.Fatalf("%d bytes", len(b))
	}
	f.WriteAt([]byte("written"), page-3)
	if got := string(b[page-3 : page+4]); got != "written" {
		t.Errorf("Bytes shows %q after WriteAt", got)
	}
	// Growth leaves the slice as it is, valid and shared.
	f.WriteAt(patternBytes(100*page), 2*page)
	f.WriteAt([]byte("after"), 10)
	if got := string(b[10:15]); got != "after" || int64(len(b)) != 2*page {
		t.Errorf("the old slice shows %q after growth", got)
	}
	grown := f.Bytes()
	if int64(len(grown)) != 102*page || !bytes.Equal(grown[:2*page], b) {
		t.Errorf("Bytes after growth is %d long", len(grown))
	}
	copy(b[20:], "stored")
	if got := make([]byte, 6); true {
		if _, err := f.ReadAt(got, 20); err != nil || string(got) != "stored" {
			t.Errorf("ReadAt gives %q, %v after a store", got, err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	disk, _ := os.ReadFile(path)
	if string(disk[20:26]) != "stored" || string(disk[10:15]) != "after" {
		t.Errorf("after Sync others see %q", disk[10:26])
	}
	copy(grown[101*page:], "last store")
	f.Close()
	disk, _ = os.ReadFile(path)
	if string(disk[101*page:101*page+10]) != "last store" {
		t.Errorf("after Close others see %q", disk[101*page:101*page+10])
	}
}

func TestViewIsTheAskedRange(t *testing.T) {
	data := patternBytes(3*page + 17)
	size := int64(len(data))
	path := writeScratch(t, "data", data)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		f := mustOpen(t, path, flag)
		for _, x := range []struct{ off, n int64 }{{0, size}, {0, 1}, {size - 1, 1}, {page - 1, 2}, {page, page}, {5, 0}, {0, 0}, {size, 0}} {
			called := 0
			err := f.View(x.off, x.n, func(p []byte) error {
				called++
				if p == nil || !bytes.Equal(p, data[x.off:x.off+x.n]) {
					t.Errorf("View(%d, %d) shows %s", x.off, x.n, show(p))
				}
				return nil
			})
			if err != nil || called != 1 {
				t.Errorf("View(%d, %d): %v, called %d times", x.off, x.n, err, called)
			}
		}
	}
}

func TestViewRefusesWhatIsNoRange(t *testing.T) {
	path := writeScratch(t, "data", patternBytes(100))
	dir := mustOpen(t, filepath.Dir(path), os.O_RDONLY)
	f := mustOpen(t, path, os.O_RDWR)
	empty := mustOpen(t, writeScratch(t, "empty", nil), os.O_RDWR)
	closed := mustOpen(t, path, os.O_RDONLY)
	closed.Close()
	for _, x := range []struct {
		name   string
		f      *mmapfile.File
		off, n int64
		want   error
		bare   bool
	}{
		{"negative offset", f, -1, 1, fs.ErrInvalid, false},
		{"negative length", f, 0, -1, fs.ErrInvalid, false},
		{"smallest numbers", f, math.MinInt64, math.MinInt64, fs.ErrInvalid, false},
		{"across the end", f, 99, 2, io.EOF, true},
		{"behind the end", f, 100, 1, io.EOF, true},
		{"far behind the end", f, math.MaxInt64, math.MaxInt64, io.EOF, true},
		{"of an empty file", empty, 0, 1, io.EOF, true},
		{"of a directory", dir, 0, 1, errors.ErrUnsupported, false},
		{"closed", closed, 0, 1, os.ErrClosed, false},
		{"nil", nil, 0, 1, os.ErrInvalid, true},
	} {
		err := x.f.View(x.off, x.n, func([]byte) error { t.Errorf("%s: fn was called", x.name); return nil })
		var pe *fs.PathError
		switch {
		case x.bare:
			if err != x.want {
				t.Errorf("%s: %v, want %v itself", x.name, err, x.want)
			}
		case !errors.Is(err, x.want) || !errors.As(err, &pe) || pe.Op != "view" || pe.Path != x.f.Name():
			t.Errorf("%s: %#v, want a PathError of view with %v", x.name, err, x.want)
		}
	}
}

func TestViewGivesBackWhatItsFunctionDoes(t *testing.T) {
	f := mustOpen(t, writeScratch(t, "data", patternBytes(100)), os.O_RDWR)
	if err := f.View(0, 100, func([]byte) error { return errMidway }); err != errMidway {
		t.Errorf("View returned %v", err)
	}
	type own struct{ v int }
	func() {
		defer func() {
			if e := recover(); e != (own{7}) {
				t.Errorf("recovered %v", e)
			}
		}()
		f.View(0, 100, func([]byte) error { panic(own{7}) })
	}()
	// The File is as usable as before.
	if n, err := f.WriteAt([]byte("x"), 200); n != 1 || err != nil {
		t.Errorf("WriteAt after the panic: %d, %v", n, err)
	}
}

func TestStoresThroughViewReachTheFile(t *testing.T) {
	data := patternBytes(2*page + 9)
	path := writeScratch(t, "data", data)
	f := mustOpen(t, path, os.O_RDWR)
	if err := f.View(page-2, 4, func(p []byte) error { copy(p, "view"); return nil }); err != nil {
		t.Fatal(err)
	}
	copy(data[page-2:], "view")
	got := make([]byte, 6)
	if _, err := f.ReadAt(got, page-3); err != nil || !bytes.Equal(got, data[page-3:page+3]) {
		t.Errorf("ReadAt gives %q, %v", got, err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, data)
}

func TestNewOfNothingIsAnError(t *testing.T) {
	if f, err := mmapfile.New(nil); f != nil || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("New(nil) is %v, %v", f, err)
	}
}
