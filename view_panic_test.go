package mmapfile_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestView_Panic(t *testing.T) {
	t.Parallel()
	const size = 20_000
	name := filetest.Temp(t, filetest.Pattern(size))
	f := mustOpenMapped(t, name)
	own := &struct{ int }{7}
	var none map[string]int
	var nowhere *[64]byte
	i := size
	for _, c := range []struct {
		name string
		do   func(p []byte)
		want func(v any) bool
	}{
		{"OwnValue", func([]byte) { panic(own) }, func(v any) bool { return v == any(own) }},
		{"Error", func([]byte) { panic(fs.ErrExist) }, func(v any) bool { return v == any(fs.ErrExist) }},
		{"ErrClosed", func([]byte) { panic(os.ErrClosed) }, func(v any) bool { return v == any(os.ErrClosed) }},
		{"Nil", func([]byte) { panic(nil) }, func(v any) bool { _, ok := v.(*runtime.PanicNilError); return ok }},
		{"NilMap", func([]byte) { none["x"] = 1 }, filetest.IsRuntimeError("nil map")},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, filetest.IsRuntimeError("index out of range")},
		{"SliceOutOfRange", func(p []byte) { filetest.LoadBytes(p[:i+1]) }, filetest.IsRuntimeError("slice bounds out of range")},
		{"NilPointer", func([]byte) { filetest.LoadSink.Add(uint32(nowhere[i%64])) }, filetest.IsRuntimeError("nil pointer")},
	} {
		got := filetest.Recovered(func() {
			err := f.View(0, size, func(p []byte) error { c.do(p); return nil })
			t.Errorf("%s: View returned %v", c.name, err)
		})
		if !c.want(got) {
			t.Errorf("%s: the panic is %T %v", c.name, got, got)
		}
	}
	if err := f.View(0, size, func([]byte) error { return fs.ErrExist }); err != fs.ErrExist {
		t.Errorf("the error of fn is %v", err)
	}
	filetest.Within(t, 30*time.Second, func() { // no lock is held
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A panic of fn goes on, also if the file was truncated meanwhile.
func TestView_PanicInTruncatedFile(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	const size = 80_000
	other := mustOpenMapped(t, filetest.Temp(t, filetest.Pattern(size)))
	lost := other.Bytes()
	if err := os.Truncate(other.Name(), 0); err != nil {
		t.Fatal(err)
	}
	own := &struct{ int }{7}
	var none map[string]int
	var nowhere *[64]byte
	var text any = "text"
	i, zero := size, 0
	for _, c := range []struct {
		name      string
		do        func(p []byte)
		want      func(v any) bool
		addressed bool // only the address tells it from a fault of View
	}{
		{"OwnValue", func([]byte) { panic(own) }, func(v any) bool { return v == any(own) }, false},
		{"DivisionByZero", func([]byte) { i /= zero }, filetest.IsRuntimeError("divide by zero"), false},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, filetest.IsRuntimeError("index out of range"), false},
		{"SliceOutOfRange", func(p []byte) { filetest.LoadBytes(p[:i+1]) }, filetest.IsRuntimeError("slice bounds out of range"), false},
		{"NilMap", func([]byte) { none["x"] = 1 }, filetest.IsRuntimeError("nil map"), false},
		{"TypeAssertion", func([]byte) { i = text.(int) }, filetest.IsRuntimeError("interface conversion"), false},
		{"NilPointer", func([]byte) { filetest.LoadSink.Add(uint32(nowhere[i%64])) }, filetest.IsRuntimeError("nil pointer"), true},
		{"AnotherFile", func([]byte) { filetest.LoadBytes(lost) }, filetest.IsRuntimeError("invalid memory address"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.addressed {
				filetest.NeedFaultAddresses(t)
			}
			if c.name == "AnotherFile" && !mmapfile.CanMap {
				t.Skip("copies do not fault")
			}
			// The file is truncated, or extended again before the panic, by another handle or by the File.
			for _, back := range []bool{false, true} {
				for _, foreign := range []bool{false, true} {
					f := mustOpenMapped(t, filetest.Temp(t, filetest.Pattern(size)))
					truncate := f.Truncate
					if foreign {
						truncate = func(n int64) error { return os.Truncate(f.Name(), n) }
					}
					got := filetest.Recovered(func() {
						err := f.View(0, size, func(p []byte) error {
							if err := truncate(1); err != nil {
								t.Error(err)
							}
							if back {
								if err := truncate(size); err != nil {
									t.Error(err)
								}
							}
							c.do(p)
							return nil
						})
						t.Errorf("extended again %v, by another %v: View returned %v", back, foreign, err)
					})
					if !c.want(got) {
						t.Errorf("extended again %v, by another %v: the panic is %T %v", back, foreign, got, got)
					}
				}
			}
		})
	}
}

func TestView_PanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	f := mustOpenMapped(t, filetest.Temp(t, filetest.Pattern(1000)))
	returned := false
	func() {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("the panic is %T %v", v, v)
			}
		}()
		err := f.View(0, 1000, func([]byte) error { panic(nil) })
		returned = true
		t.Errorf("View returned %v", err)
	}()
	if returned {
		t.Error("panic(nil) ended within View")
	}
}

func TestView_Goexit(t *testing.T) {
	t.Parallel()
	f := mustOpenMapped(t, filetest.Temp(t, filetest.Pattern(1000)))
	returned, deferred := false, false
	filetest.Within(t, 30*time.Second, func() {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			defer func() { deferred = true }()
			_ = f.View(0, 1000, func([]byte) error {
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
		t.Errorf("after Goexit in fn: View returned %v, deferred functions ran %v", returned, deferred)
	}
}

// A View reports only the faults in its own memory.
func TestView_Nested(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	if !mmapfile.CanMap {
		t.Skip("copies do not fault")
	}
	page := os.Getpagesize()
	first, second := filetest.Temp(t, filetest.Pattern(4*page)), filetest.Temp(t, filetest.Pattern(4*page))
	f, g := mustOpenMapped(t, first), mustOpenMapped(t, second)
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
