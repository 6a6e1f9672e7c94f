package mmapfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// ftSink keeps the compiler from dropping loads whose value nobody uses.
var ftSink atomic.Uint32

func ftTouch(p []byte) {
	var sum uint32
	for _, c := range p {
		sum += uint32(c)
	}
	ftSink.Add(sum)
}

// ftPanicOnFault asks for the goroutine's state, which cannot be had without setting it.
func ftPanicOnFault() bool {
	on := debug.SetPanicOnFault(false)
	debug.SetPanicOnFault(on)
	return on
}

// ftCaught runs fn and returns what it panicked with.
func ftCaught(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

func ftCanCut(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows lets nobody else cut a file that is mapped")
	}
}

func TestViewOfALostPageIsAnError(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	page := os.Getpagesize()
	for name, touch := range map[string]func(p []byte){
		"ByLoad":   func(p []byte) { ftTouch(p[3*page:]) },
		"ByCopy":   func(p []byte) { copy(make([]byte, len(p)), p) },
		"ByStore":  func(p []byte) { p[3*page+5] = 1 },
		"ByUpdate": func(p []byte) { copy(p, bytes.Repeat([]byte("x"), len(p))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := ftTemp(t, ftPattern(8*page))
			f := ftOpenMapped(t, file)
			returned := false
			err := f.View(0, int64(8*page), func(p []byte) error {
				if err := os.Truncate(file, int64(page+1)); err != nil {
					t.Error(err)
				}
				touch(p)
				returned = true
				return nil
			})
			if !mmapfile.CanMap {
				if !returned {
					t.Errorf("a view of a copy was abandoned: %v", err)
				}
				return
			}
			if returned || err == nil {
				t.Fatalf("the callback touched a lost page, and View returned %v", err)
			}
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op != "view" || pe.Path != file || errors.Is(err, os.ErrClosed) {
				t.Errorf("View returned %s", ftErr(err, file))
			}
			// The File is as good as before.
			b := make([]byte, 2*page)
			if n, err := f.ReadAt(b, 0); n != page+1 || err == nil {
				t.Errorf("ReadAt afterwards: %d, %v, want %d", n, err, page+1)
			}
			if err := f.View(0, int64(page+1), func(p []byte) error { ftTouch(p); return nil }); err != nil {
				t.Errorf("View of what is left: %v", err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestViewBeyondAForeignTruncationIsRefused(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	page := os.Getpagesize()
	size := 3*page + 500
	for _, content := range [][]byte{ftPattern(size), make([]byte, size)} {
		for _, cut := range []int{0, 1, page - 1, page, page + 64, 3*page - 8, 3 * page, 3*page + 64, size - 1} {
			for _, r := range [][2]int{{0, size}, {cut, 1}, {max(0, cut-3), 4}, {cut + 1, size - cut - 1}, {size - 1, 1}} {
				if r[1] <= 0 {
					continue
				}
				name := ftTemp(t, content)
				f := ftOpenMapped(t, name)
				if err := os.Truncate(name, int64(cut)); err != nil {
					t.Fatal(err)
				}
				called := false
				err := f.View(int64(r[0]), int64(r[1]), func([]byte) error { called = true; return nil })
				if err == nil || called {
					t.Errorf("a view of %d bytes at %d of a file cut at %d (zeros: %v): called %v, error %v",
						r[1], r[0], cut, content[0] == 0, called, err)
				}
				if cut > 1 {
					err := f.View(1, int64(cut-1), func(p []byte) error {
						ftSame(t, "the view", p, content[1:cut])
						return nil
					})
					if err != nil {
						t.Errorf("a view of what is left of a file cut at %d: %v", cut, err)
					}
				}
				_ = f.Close()
			}
		}
	}
}

func TestViewOfAFileClosedMeanwhileIsErrClosed(t *testing.T) {
	t.Parallel()
	const size = 100_000
	check := func(t *testing.T, f *mmapfile.File, name string, err error) {
		t.Helper()
		var pe *fs.PathError
		switch {
		case err == nil && !mmapfile.MapsUnasked: // the copy, or the mapping, was good to the end
		case !errors.Is(err, os.ErrClosed), !errors.As(err, &pe), pe.Op != "view", pe.Path != name:
			t.Errorf("View returned %s", ftErr(err, name))
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
		name := ftTemp(t, ftPattern(size))
		f := ftOpenMapped(t, name)
		ftWithin(t, 30*time.Second, func() {
			err := f.View(10, size-10, func(p []byte) error {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				ftTouch(p)
				return nil
			})
			check(t, f, name, err)
		})
	})
	t.Run("ByAnotherGoroutine", func(t *testing.T) {
		t.Parallel()
		name := ftTemp(t, ftPattern(size))
		f := ftOpenMapped(t, name)
		ftWithin(t, 30*time.Second, func() {
			err := f.View(0, size, func(p []byte) error {
				closed := make(chan error)
				go func() { closed <- f.Close() }()
				if err := <-closed; err != nil {
					t.Error(err)
				}
				ftTouch(p)
				return nil
			})
			check(t, f, name, err)
		})
	})
	t.Run("InTheMiddleOfALoad", func(t *testing.T) {
		t.Parallel()
		name := ftTemp(t, ftPattern(size))
		for range 100 {
			f := ftOpenMapped(t, name)
			started := make(chan struct{})
			closed := make(chan error)
			go func() {
				<-started
				closed <- f.Close()
			}()
			ftWithin(t, 30*time.Second, func() {
				err := f.View(0, size, func(p []byte) error {
					close(started)
					for range 20 {
						ftTouch(p)
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

func TestViewLetsEveryOtherPanicGoOn(t *testing.T) {
	t.Parallel()
	const size = 20_000
	name := ftTemp(t, ftPattern(size))
	f := ftOpenMapped(t, name)
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
		{"NilMap", func([]byte) { none["x"] = 1 }, ftRuntimeError("nil map")},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, ftRuntimeError("index out of range")},
		{"SliceOutOfRange", func(p []byte) { ftTouch(p[:i+1]) }, ftRuntimeError("slice bounds out of range")},
		{"NilPointer", func([]byte) { ftSink.Add(uint32(nowhere[i%64])) }, ftRuntimeError("nil pointer")},
	} {
		got := ftCaught(func() {
			err := f.View(0, size, func(p []byte) error { c.do(p); return nil })
			t.Errorf("%s: View returned %v", c.name, err)
		})
		if !c.want(got) {
			t.Errorf("%s came out as %T %v", c.name, got, got)
		}
	}
	if err := f.View(0, size, func([]byte) error { return fs.ErrExist }); err != fs.ErrExist {
		t.Errorf("the callback's own error came out as %v", err)
	}
	ftWithin(t, 30*time.Second, func() { // no lock was left behind
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// ftGivesAddresses skips the test under an emulator that gives faults no address, or a wrong one.
func ftGivesAddresses(t *testing.T) {
	t.Helper()
	if ftEmulator != "" {
		t.Skip("the emulator may give no address")
	}
}

// What fn panics with is its own, also where the file was truncated meanwhile.
func TestView_PanicInTruncatedFile(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	const size = 80_000
	other := ftOpenMapped(t, ftTemp(t, ftPattern(size)))
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
		addressed bool // only an address tells it from a fault of the View
	}{
		{"OwnValue", func([]byte) { panic(own) }, func(v any) bool { return v == any(own) }, false},
		{"DivisionByZero", func([]byte) { i /= zero }, ftRuntimeError("divide by zero"), false},
		{"IndexOutOfRange", func(p []byte) { p[i] = 1 }, ftRuntimeError("index out of range"), false},
		{"SliceOutOfRange", func(p []byte) { ftTouch(p[:i+1]) }, ftRuntimeError("slice bounds out of range"), false},
		{"NilMap", func([]byte) { none["x"] = 1 }, ftRuntimeError("nil map"), false},
		{"TypeAssertion", func([]byte) { i = text.(int) }, ftRuntimeError("interface conversion"), false},
		{"NilPointer", func([]byte) { ftSink.Add(uint32(nowhere[i%64])) }, ftRuntimeError("nil pointer"), true},
		{"AnotherFile", func([]byte) { ftTouch(lost) }, ftRuntimeError("invalid memory address"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.addressed {
				ftGivesAddresses(t)
			}
			if c.name == "AnotherFile" && !mmapfile.CanMap {
				t.Skip("copies do not fault")
			}
			// Truncated for good, or extended again before the panic; by another file, or by the File itself.
			for _, back := range []bool{false, true} {
				for _, foreign := range []bool{false, true} {
					f := ftOpenMapped(t, ftTemp(t, ftPattern(size)))
					truncate := f.Truncate
					if foreign {
						truncate = func(n int64) error { return os.Truncate(f.Name(), n) }
					}
					got := ftCaught(func() {
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
						t.Errorf("extended again %v, by another %v: came out as %T %v", back, foreign, got, got)
					}
				}
			}
		})
	}
}

func TestView_PanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	f := ftOpenMapped(t, ftTemp(t, ftPattern(1000)))
	returned := false
	func() {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("it came out as %T %v", v, v)
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

func ftRuntimeError(text string) func(v any) bool {
	return func(v any) bool {
		err, ok := v.(runtime.Error)
		return ok && strings.Contains(err.Error(), text)
	}
}

func TestViewLetsGoexitGoOn(t *testing.T) {
	t.Parallel()
	f := ftOpenMapped(t, ftTemp(t, ftPattern(1000)))
	returned, deferred := false, false
	ftWithin(t, 30*time.Second, func() {
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
		t.Errorf("after Goexit in the callback: View returned %v, deferred functions ran %v", returned, deferred)
	}
}

// A fault in somebody else's memory is not this View's error.
func TestViewWithinViewFaultsOnItsOwn(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	if !mmapfile.CanMap {
		t.Skip("copies do not fault")
	}
	page := os.Getpagesize()
	first, second := ftTemp(t, ftPattern(4*page)), ftTemp(t, ftPattern(4*page))
	f, g := ftOpenMapped(t, first), ftOpenMapped(t, second)
	err := f.View(0, int64(4*page), func(p []byte) error {
		err := g.View(0, int64(4*page), func(q []byte) error {
			if err := os.Truncate(second, 0); err != nil {
				t.Error(err)
			}
			ftTouch(q)
			return nil
		})
		var pe *fs.PathError
		if !errors.As(err, &pe) || pe.Path != second {
			t.Errorf("the inner View returned %s", ftErr(err, second))
		}
		if !ftPanicOnFault() {
			t.Error("the inner View ended the outer one's guard")
		}
		ftTouch(p)
		if err := os.Truncate(first, 0); err != nil {
			t.Error(err)
		}
		return g.View(0, 0, func([]byte) error {
			ftTouch(p) // a page of the outer View, lost inside the inner one
			return nil
		})
	})
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != first || pe.Op != "view" {
		t.Errorf("the outer View returned %s", ftErr(err, first))
	}
}

func TestPanicOnFaultIsAsBeforeAfterEveryCall(t *testing.T) {
	page := os.Getpagesize()
	for _, was := range []bool{false, true} {
		done := make(chan struct{})
		go func() { // the state belongs to the goroutine: do not leave it on the test's own
			defer close(done)
			debug.SetPanicOnFault(was)
			name := ftTemp(t, ftPattern(8*page))
			f := ftOpenMapped(t, name)
			ftHeat(t, f, ftPattern(8*page))
			b := make([]byte, 8*page)
			view := func(fn func(p []byte) error) { _ = f.View(0, int64(8*page), fn) }
			for _, c := range []struct {
				name string
				do   func()
			}{
				{"ReadAt", func() { _, _ = f.ReadAt(b, 0) }},
				{"Read", func() { _, _ = f.Read(b[:100]) }},
				{"WriteAt", func() { _, _ = f.WriteAt(b[:100], 0) }},
				{"Write", func() { _, _ = f.Write(b[:100]) }},
				{"WriteTo", func() { _, _ = f.WriteTo(&bytes.Buffer{}) }},
				{"View", func() { view(func([]byte) error { return nil }) }},
				{"ViewWithError", func() { view(func([]byte) error { return fs.ErrExist }) }},
				{"ViewWithPanic", func() { _ = ftCaught(func() { view(func([]byte) error { panic(1) }) }) }},
				{"ViewOfLostPages", func() {
					if runtime.GOOS == "windows" {
						return
					}
					view(func(p []byte) error {
						if err := os.Truncate(name, 1); err != nil {
							t.Error(err)
						}
						ftTouch(p)
						return nil
					})
				}},
				{"ReadAtOfLostPages", func() { _, _ = f.ReadAt(b, 0) }},
				{"WriteAtOfLostPages", func() { _, _ = f.WriteAt(b[:10], int64(7*page)) }},
				{"ReadAtAfterClose", func() { _ = f.Close(); _, _ = f.ReadAt(b, 0) }},
			} {
				if c.do(); ftPanicOnFault() != was {
					t.Errorf("%s: SetPanicOnFault was %v and is not now", c.name, was)
					debug.SetPanicOnFault(was)
				}
			}
		}()
		<-done
	}
}
