package ostest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestView_Range(t *testing.T) {
	data := filetest.PatternWithZeros(3*page + 17)
	size := int64(len(data))
	path := filetest.Temp(t, data)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		f := filetest.OpenFile(t, path, flag)
		for _, x := range []struct{ off, n int64 }{{0, size}, {0, 1}, {size - 1, 1}, {page - 1, 2}, {page, page}, {5, 0}, {0, 0}, {size, 0}} {
			called := 0
			err := f.View(x.off, x.n, func(p []byte) error {
				called++
				if p == nil || !bytes.Equal(p, data[x.off:x.off+x.n]) {
					t.Errorf("View(%d, %d) has %s", x.off, x.n, filetest.Show(p))
				}
				return nil
			})
			if err != nil || called != 1 {
				t.Errorf("View(%d, %d): %v, called %d times", x.off, x.n, err, called)
			}
		}
	}
}

func TestView_BadRange(t *testing.T) {
	path := filetest.Temp(t, filetest.PatternWithZeros(100))
	dir := filetest.OpenFile(t, filepath.Dir(path), os.O_RDONLY)
	f := filetest.Open(t, path)
	empty := filetest.Open(t, filetest.Temp(t, nil))
	closed := filetest.OpenFile(t, path, os.O_RDONLY)
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
		{"past the end", f, 100, 1, io.EOF, true},
		{"far past the end", f, math.MaxInt64, math.MaxInt64, io.EOF, true},
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

func TestView_WritesReachFile(t *testing.T) {
	data := filetest.PatternWithZeros(2*page + 9)
	path := filetest.Temp(t, data)
	f := filetest.Open(t, path)
	if err := f.View(page-2, 4, func(p []byte) error { copy(p, "view"); return nil }); err != nil {
		t.Fatal(err)
	}
	copy(data[page-2:], "view")
	got := make([]byte, 6)
	if _, err := f.ReadAt(got, page-3); err != nil || !bytes.Equal(got, data[page-3:page+3]) {
		t.Errorf("ReadAt returned %q, %v", got, err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, path), data)
}

func TestView_OwnTruncation(t *testing.T) {
	t.Parallel()
	whole := filetest.Pattern(100_000)
	f := filetest.Open(t, filetest.Temp(t, whole))
	err := f.View(10, 80_000, func(p []byte) error {
		if err := f.Truncate(70_000); err != nil {
			return err
		}
		filetest.SameBytes(t, "the view", p[:69_990], whole[10:70_000])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestView_TruncatedInside(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	f := filetest.Open(t, name)
	err := f.View(0, 100, func(p []byte) error {
		p[90] = 'x'
		return f.Truncate(10)
	})
	if fi, serr := f.Stat(); serr != nil || fi.Size() != 10 {
		t.Errorf("the file has %d bytes, %v; View: %v", fi.Size(), serr, err)
	}
}

// Bytes that fn of View writes past an end that was moved meanwhile are not read.
func TestView_WritePastMovedEnd(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	err := f.View(0, 4096, func(p []byte) error {
		if err := os.Truncate(name, 100); err != nil {
			return err
		}
		copy(p[200:], "ghost")
		return nil
	})
	if filetest.CanMap && err != nil {
		t.Fatal(err)
	}
	if n, err := f.ReadAt(make([]byte, 5), 200); n != 0 || err != io.EOF {
		t.Errorf("ReadAt past the end: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("after"), 200); n != 5 || err != nil {
		t.Errorf("WriteAt past the end: %d, %v", n, err)
	}
	if got := filetest.Read(t, name); len(got) != 205 || string(got[200:]) != "after" {
		t.Errorf("the file has %d bytes", len(got))
	}
}

func TestView_LostPage(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	page := os.Getpagesize()
	for name, touch := range map[string]func(p []byte){
		"ByLoad":   func(p []byte) { filetest.LoadBytes(p[3*page:]) },
		"ByCopy":   func(p []byte) { copy(make([]byte, len(p)), p) },
		"ByStore":  func(p []byte) { p[3*page+5] = 1 },
		"ByUpdate": func(p []byte) { copy(p, bytes.Repeat([]byte("x"), len(p))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filetest.Temp(t, filetest.Pattern(8*page))
			f := filetest.OpenMapped(t, file)
			returned := false
			err := f.View(0, int64(8*page), func(p []byte) error {
				if err := os.Truncate(file, int64(page+1)); err != nil {
					t.Error(err)
				}
				touch(p)
				returned = true
				return nil
			})
			if !filetest.CanMap {
				if !returned {
					t.Errorf("View of a copy was aborted: %v", err)
				}
				return
			}
			if returned || err == nil {
				t.Fatalf("fn used a lost page, and View returned %v", err)
			}
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op != "view" || pe.Path != file || errors.Is(err, os.ErrClosed) {
				t.Errorf("View returned %s", filetest.ErrorText(err, file))
			}
			// The File is still usable.
			b := make([]byte, 2*page)
			if n, err := f.ReadAt(b, 0); n != page+1 || err == nil {
				t.Errorf("ReadAt afterwards: %d, %v, want %d", n, err, page+1)
			}
			if err := f.View(0, int64(page+1), func(p []byte) error { filetest.LoadBytes(p); return nil }); err != nil {
				t.Errorf("View of what is left: %v", err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestView_PastForeignTruncation(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	page := os.Getpagesize()
	size := 3*page + 500
	for _, content := range [][]byte{filetest.Pattern(size), make([]byte, size)} {
		for _, cut := range []int{0, 1, page - 1, page, page + 64, 3*page - 8, 3 * page, 3*page + 64, size - 1} {
			for _, r := range [][2]int{{0, size}, {cut, 1}, {max(0, cut-3), 4}, {cut + 1, size - cut - 1}, {size - 1, 1}} {
				if r[1] <= 0 {
					continue
				}
				name := filetest.Temp(t, content)
				f := filetest.OpenMapped(t, name)
				if err := os.Truncate(name, int64(cut)); err != nil {
					t.Fatal(err)
				}
				called := false
				err := f.View(int64(r[0]), int64(r[1]), func([]byte) error { called = true; return nil })
				if err == nil || called {
					t.Errorf("View of %d bytes at %d of a file truncated to %d (zeros: %v): called %v, error %v",
						r[1], r[0], cut, content[0] == 0, called, err)
				}
				if cut > 1 {
					err := f.View(1, int64(cut-1), func(p []byte) error {
						filetest.SameBytes(t, "the view", p, content[1:cut])
						return nil
					})
					if err != nil {
						t.Errorf("View of what is left of a file truncated to %d: %v", cut, err)
					}
				}
				_ = f.Close()
			}
		}
	}
}

func TestView_ClosedMeanwhile(t *testing.T) {
	t.Parallel()
	const size = 100_000
	check := func(t *testing.T, f *mmapfile.File, name string, err error) {
		t.Helper()
		var pe *fs.PathError
		switch {
		case err == nil && !filetest.MapsUnasked: // the copy, or the mapping, was valid to the end
		case !errors.Is(err, os.ErrClosed), !errors.As(err, &pe), pe.Op != "view", pe.Path != name:
			t.Errorf("View returned %s", filetest.ErrorText(err, name))
		}
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
			t.Errorf("ReadAt of the closed file: %v", err)
		}
		if err := f.View(0, 1, func([]byte) error { return nil }); !errors.Is(err, os.ErrClosed) {
			t.Errorf("View of the closed file: %v", err)
		}
	}
	t.Run("InTheCallback", func(t *testing.T) {
		t.Parallel()
		name := filetest.Temp(t, filetest.Pattern(size))
		f := filetest.OpenMapped(t, name)
		filetest.Within(t, func() {
			err := f.View(10, size-10, func(p []byte) error {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				filetest.LoadBytes(p)
				return nil
			})
			check(t, f, name, err)
		})
	})
	t.Run("ByAnotherGoroutine", func(t *testing.T) {
		t.Parallel()
		name := filetest.Temp(t, filetest.Pattern(size))
		f := filetest.OpenMapped(t, name)
		filetest.Within(t, func() {
			err := f.View(0, size, func(p []byte) error {
				closed := make(chan error)
				go func() { closed <- f.Close() }()
				if err := <-closed; err != nil {
					t.Error(err)
				}
				filetest.LoadBytes(p)
				return nil
			})
			check(t, f, name, err)
		})
	})
	t.Run("InTheMiddleOfALoad", func(t *testing.T) {
		t.Parallel()
		name := filetest.Temp(t, filetest.Pattern(size))
		for range 100 {
			f := filetest.OpenMapped(t, name)
			started := make(chan struct{})
			closed := make(chan error)
			go func() {
				<-started
				closed <- f.Close()
			}()
			filetest.Within(t, func() {
				err := f.View(0, size, func(p []byte) error {
					close(started)
					for range 20 {
						filetest.LoadBytes(p)
					}
					return nil
				})
				if err != nil && !errors.Is(err, os.ErrClosed) {
					t.Errorf("View returned %v", err)
				}
			})
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
	})
}

// inMemory are the two functions in which a fault of the file is an error.
var inMemory = map[string]func(f *mmapfile.File, n int64, fn func(p []byte) error) error{
	"View": func(f *mmapfile.File, n int64, fn func(p []byte) error) error { return f.View(0, n, fn) },
	"Guard": func(f *mmapfile.File, n int64, fn func(p []byte) error) error {
		p := f.Bytes()[:n]
		return f.Guard(func() error { return fn(p) })
	},
}

// What fn panics with is its own, also if the file was truncated meanwhile, and perhaps extended again.
func TestView_Panic(t *testing.T) {
	t.Parallel()
	const size = 80_000
	own := &struct{ int }{7}
	var none map[string]int
	var nowhere *[64]byte
	var text any = "text"
	var lost []byte // memory of another File that faults
	if filetest.MapsUnasked {
		other := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(size)))
		lost = other.Bytes()
		if err := os.Truncate(other.Name(), 0); err != nil {
			t.Fatal(err)
		}
	}
	i, zero := size, 0
	for _, c := range []struct {
		name      string
		do        func(p []byte)
		want      func(v any) bool
		addressed bool // only the address tells it from a fault of the file
	}{
		{"OwnValue", func([]byte) { panic(own) }, func(v any) bool { return v == any(own) }, false},
		{"ErrClosed", func([]byte) { panic(os.ErrClosed) }, func(v any) bool { return v == any(os.ErrClosed) }, false},
		{"Nil", func([]byte) { panic(nil) }, func(v any) bool { _, ok := v.(*runtime.PanicNilError); return ok }, false},
		{"DivisionByZero", func([]byte) { i /= zero }, filetest.IsRuntimeError("divide by zero"), false},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, filetest.IsRuntimeError("index out of range"), false},
		{"SliceOutOfRange", func(p []byte) { filetest.LoadBytes(p[:i+1]) }, filetest.IsRuntimeError("slice bounds out of range"), false},
		{"NilMap", func([]byte) { none["x"] = 1 }, filetest.IsRuntimeError("nil map"), false},
		{"TypeAssertion", func([]byte) { i = text.(int) }, filetest.IsRuntimeError("interface conversion"), false},
		{"NilPointer", func([]byte) { filetest.LoadSink.Add(uint32(nowhere[i%64])) }, filetest.IsRuntimeError("nil pointer"), true},
		{"AnotherFile", func([]byte) { filetest.LoadBytes(lost) }, filetest.IsRuntimeError("invalid memory address"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "AnotherFile" && lost == nil {
				t.Skip("nothing faults here")
			}
			for what, call := range inMemory {
				for _, sizes := range [][]int64{nil, {1}, {1, size}} {
					if sizes != nil && c.addressed && filetest.Emulator != "" {
						continue
					}
					for _, foreign := range []bool{false, true} {
						if foreign && runtime.GOOS == "windows" {
							continue // which refuses to truncate a mapped file
						}
						f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(size)))
						truncate := f.Truncate
						if foreign {
							truncate = func(n int64) error { return os.Truncate(f.Name(), n) }
						}
						got := filetest.Recovered(func() {
							err := call(f, size, func(p []byte) error {
								for _, n := range sizes {
									if err := truncate(n); err != nil {
										t.Error(err)
									}
								}
								c.do(p)
								return nil
							})
							t.Errorf("%s, truncated to %v, by another %v: it returned %v", what, sizes, foreign, err)
						})
						if !c.want(got) {
							t.Errorf("%s, truncated to %v, by another %v: the panic is %T %v", what, sizes, foreign, got, got)
						}
						filetest.Within(t, func() { // no lock was left locked
							if err := f.Close(); err != nil {
								t.Error(err)
							}
						})
					}
				}
			}
		})
	}
}

func TestView_PanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(1000)))
	for what, call := range inMemory {
		returned := false
		if v := filetest.Recovered(func() {
			_ = call(f, 1000, func([]byte) error { panic(nil) })
			returned = true
		}); v != nil || returned {
			t.Errorf("%s: it came out as %v, returned %v", what, v, returned)
		}
	}
}

func TestView_Goexit(t *testing.T) {
	t.Parallel()
	for what, call := range inMemory {
		f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(1000)))
		returned, deferred := false, false
		filetest.Within(t, func() {
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				defer func() { deferred = true }()
				_ = call(f, 1000, func([]byte) error {
					runtime.Goexit()
					return nil
				})
				returned = true
			}()
			<-gone
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		if returned || !deferred {
			t.Errorf("%s returned %v, deferred functions ran %v", what, returned, deferred)
		}
	}
}

// A View reports only the faults in its own memory.
func TestView_Nested(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	if !filetest.CanMap {
		t.Skip("copies do not fault")
	}
	page := os.Getpagesize()
	first, second := filetest.Temp(t, filetest.Pattern(4*page)), filetest.Temp(t, filetest.Pattern(4*page))
	f, g := filetest.OpenMapped(t, first), filetest.OpenMapped(t, second)
	err := f.View(0, int64(4*page), func(p []byte) error {
		err := g.View(0, int64(4*page), func(q []byte) error {
			if err := os.Truncate(second, 0); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(q)
			return nil
		})
		var pe *fs.PathError
		if !errors.As(err, &pe) || pe.Path != second {
			t.Errorf("the inner View returned %s", filetest.ErrorText(err, second))
		}
		if !filetest.PanicOnFault() {
			t.Error("the inner View has reset SetPanicOnFault of the outer one")
		}
		filetest.LoadBytes(p)
		if err := os.Truncate(first, 0); err != nil {
			t.Error(err)
		}
		return g.View(0, 0, func([]byte) error {
			filetest.LoadBytes(p) // a page of the outer View, lost inside the inner one
			return nil
		})
	})
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != first || pe.Op != "view" {
		t.Errorf("the outer View returned %s", filetest.ErrorText(err, first))
	}
}
