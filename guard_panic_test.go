package mmapfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// What fn panics with is its own, also if the file was truncated meanwhile.
func TestGuard_OtherPanics(t *testing.T) {
	t.Parallel()
	own := &struct{ int }{7}
	var none map[string]int
	var nowhere *[64]byte
	var lost []byte // memory of another File that faults
	if mmapfile.CanMap && mmapfile.MapsUnasked {
		other := guardedFile(t, 80_000)
		lost = other.Bytes()
		if err := os.Truncate(other.Name(), 0); err != nil {
			t.Fatal(err)
		}
	}
	i := 80_000
	for _, c := range []struct {
		name string
		do   func(p []byte)
		want func(v any) bool
	}{
		{"OwnValue", func([]byte) { panic(own) }, func(v any) bool { return v == any(own) }},
		{"Error", func([]byte) { panic(os.ErrClosed) }, func(v any) bool { return v == any(os.ErrClosed) }},
		{"Nil", func([]byte) { panic(nil) }, func(v any) bool { _, ok := v.(*runtime.PanicNilError); return ok }},
		{"NilMap", func([]byte) { none["x"] = 1 }, filetest.IsRuntimeError("nil map")},
		{"NilPointer", func([]byte) { filetest.LoadSink.Add(uint32(nowhere[i%64])) }, filetest.IsRuntimeError("nil pointer")},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, filetest.IsRuntimeError("index out of range")},
		{"AnotherFile", func([]byte) {
			if filetest.LoadBytes(lost); lost == nil {
				panic(errors.ErrUnsupported)
			}
		}, func(v any) bool {
			return lost == nil && v == any(errors.ErrUnsupported) || filetest.IsRuntimeError("invalid memory address")(v)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, truncated := range []bool{false, true} {
				f := guardedFile(t, i)
				got := filetest.Recovered(func() {
					err := f.Guard(func() error {
						p := f.Bytes()
						if truncated {
							if err := f.Truncate(1); err != nil {
								t.Error(err)
							}
						}
						c.do(p)
						return nil
					})
					t.Errorf("Guard returned %v", err)
				})
				if !c.want(got) {
					t.Errorf("truncated %v: it came out as %T %v", truncated, got, got)
				}
				filetest.Within(t, 30*time.Second, func() { // no lock was left locked
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func TestGuard_PanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	f := guardedFile(t, 1000)
	returned := false
	if v := filetest.Recovered(func() {
		_ = f.Guard(func() error { panic(nil) })
		returned = true
	}); v != nil || returned {
		t.Errorf("it came out as %v, returned %v", v, returned)
	}
}

func TestGuard_Goexit(t *testing.T) {
	t.Parallel()
	f := guardedFile(t, 1000)
	returned, deferred := false, false
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer func() { deferred = true }()
		_ = f.Guard(func() error {
			runtime.Goexit()
			return nil
		})
		returned = true
	}()
	<-gone
	if returned || !deferred {
		t.Errorf("Guard returned %v, deferred functions ran %v", returned, deferred)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestGuard_Nested(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	f, g := guardedFile(t, 80_000), guardedFile(t, 80_000)
	p, q := f.Bytes(), g.Bytes()
	err := f.Guard(func() error {
		inner := g.Guard(func() error {
			if err := os.Truncate(g.Name(), 0); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(q)
			return nil
		})
		guardFails(t, g, inner, io.ErrUnexpectedEOF)
		if !filetest.PanicOnFault() {
			t.Error("the inner Guard has ended the outer one")
		}
		if err := os.Truncate(f.Name(), 0); err != nil {
			t.Error(err)
		}
		return g.Guard(func() error {
			filetest.LoadBytes(p) // of the outer Guard, in the inner one
			return nil
		})
	})
	guardFails(t, f, err, io.ErrUnexpectedEOF)
}

// A fault outside the range of a View is that of the Guard around it.
func TestGuard_View(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	page := os.Getpagesize()
	f := guardedFile(t, 8*page)
	p := f.Bytes()
	guardFails(t, f, f.Guard(func() error {
		return f.View(0, int64(page), func(view []byte) error {
			if err := os.Truncate(f.Name(), int64(page)); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(view)
			filetest.LoadBytes(p)
			return nil
		})
	}), io.ErrUnexpectedEOF)

	f = guardedFile(t, 8*page)
	err := f.View(0, int64(8*page), func(view []byte) error {
		guardFails(t, f, f.Guard(func() error {
			if err := os.Truncate(f.Name(), int64(page)); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(view)
			return nil
		}), io.ErrUnexpectedEOF)
		return fs.ErrExist
	})
	if err != fs.ErrExist {
		t.Errorf("View returned %v", err)
	}
}

func TestGuard_PanicOnFaultAsBefore(t *testing.T) {
	for _, was := range []bool{false, true} {
		f := guardedFile(t, 80_000)
		p := f.Bytes()
		done := make(chan struct{})
		go func() { // the setting belongs to the goroutine
			defer close(done)
			debug.SetPanicOnFault(was)
			for name, fn := range map[string]func() error{
				"Nothing": func() error { return nil },
				"Error":   func() error { return fs.ErrExist },
				"Panic":   func() error { panic(1) },
				"Fault": func() error {
					if mmapfile.MapsUnasked && filetest.Emulator == "" {
						_ = os.Truncate(f.Name(), 0)
						filetest.LoadBytes(p)
					}
					return nil
				},
			} {
				_ = filetest.Recovered(func() { _ = f.Guard(fn) })
				if filetest.PanicOnFault() != was {
					t.Errorf("%s: SetPanicOnFault was %v and is not now", name, was)
				}
			}
		}()
		<-done
	}
}
