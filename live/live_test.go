package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestOpen_Errors(t *testing.T) {
	t.Parallel()
	dir := filetest.Dir(t)
	for _, c := range []struct {
		name string
		load func(f *mmapfile.File) (words, error)
		want error
	}{
		{filepath.Join(dir, "missing"), load, fs.ErrNotExist},
		{dir, load, fs.ErrInvalid},
		{filetest.Temp(t, content(1)), func(*mmapfile.File) (words, error) { return words{}, errTest }, errTest},
	} {
		released := 0
		v, err := Options[words]{Release: func(words) { released++ }}.Open(c.name, c.load)
		var pe *fs.PathError
		if v != nil || !errors.Is(err, c.want) || !errors.As(err, &pe) || pe.Path != c.name || released != 0 {
			t.Errorf("%s: %v, %v, %d released", c.name, v, err, released)
		}
	}
}

// A panic of load, or runtime.Goexit, goes on from Open, and leaves no file open.
func TestOpen_PanicInLoad(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, content(1))
	var f *mmapfile.File
	r := filetest.Recovered(func() {
		Open(name, func(opened *mmapfile.File) (words, error) { f = opened; panic(errTest) })
	})
	if r != errTest {
		t.Errorf("recovered %v", r)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the panic the file is open: %v", err)
	}
	within(t, func() {
		Open(name, func(opened *mmapfile.File) (words, error) { f = opened; runtime.Goexit(); return words{}, nil })
		t.Error("Goexit ended in Open")
	})
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Goexit the file is open: %v", err)
	}
}

// The version that a Use has got stays as it is, and is released once, after the last Use.
func TestUse_KeepsItsVersion(t *testing.T) {
	t.Parallel()
	o := manual()
	var order []int32
	o.Release = func(w words) { order = append(order, w.released.Add(1)) }
	v, name := open(t, o, load)
	var outer words
	err := v.Use(func(w words) error {
		outer = w
		replace(t, name, content(2))
		refresh(t, v, true)
		uses(t, v, 2)
		if n, err := w.number(); n != 1 {
			t.Error(n, err)
		}
		if n := v.Status().Open; n != 2 {
			t.Errorf("%d versions are open", n)
		}
		if w.released.Load() != 0 {
			t.Error("released under its Use")
		}
		return errTest
	})
	if err != errTest {
		t.Error(err)
	}
	eventually(t, "the first version is released", func() bool { return v.Status().Open == 1 })
	if outer.released.Load() != 1 {
		t.Error("not released")
	}
	if err := v.Close(); err != nil || len(order) != 2 {
		t.Error(err, order)
	}
}

// A panic of fn, and runtime.Goexit, release the version.
func TestUse_PanicAndGoexit(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	if r := filetest.Recovered(func() { v.Use(func(words) error { panic(errTest) }) }); r != errTest {
		t.Errorf("recovered %v", r)
	}
	within(t, func() {
		v.Use(func(words) error { runtime.Goexit(); return nil })
		t.Error("Goexit ended in Use")
	})
	replace(t, name, content(2))
	refresh(t, v, true)
	eventually(t, "the first version is released", func() bool { return v.Status().Open == 1 })
}

// A file that is truncated in place is an error of Use, until it is whole again.
func TestUse_Truncated(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	filetest.NeedFaultAddresses(t)
	if !filetest.CanMap {
		t.Skip("the memory is a copy")
	}
	v, name := open(t, manual(), load)
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	err := v.Use(func(w words) error { _, err := w.number(); return err })
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		t.Errorf("truncated: %v", err)
	}
	if changed, err := v.Refresh(); changed || err == nil || v.Status().Err == nil {
		t.Errorf("a truncated file was taken: %v, %v", changed, err)
	}
	filetest.Write(t, name, content(3))
	refresh(t, v, true)
	uses(t, v, 3)
	if err := v.Status().Err; err != nil {
		t.Error(err)
	}
}

func TestUse_Allocations(t *testing.T) {
	if filetest.Emulator != "" {
		t.Skip("slow, and the same as elsewhere")
	}
	v, _ := open(t, manual(), load)
	sum := 0
	n := testing.AllocsPerRun(100, func() {
		v.Use(func(w words) error { sum += int(w.p[8]); return nil })
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// All methods may be called in all functions of the caller.
func TestValue_CallsInside(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"Use", "load", "background load", "OnError", "background OnError", "Release"} {
		for _, end := range []bool{false, true} {
			var v atomic.Pointer[Value[words]]
			var called atomic.Int32
			call := func(where string) {
				v := v.Load()
				if where != in || v == nil {
					return
				}
				defer called.Add(1)
				v.Use(func(words) error { return nil })
				if end {
					v.Close()
				}
				v.Refresh()
				v.Use(func(words) error { return nil })
				v.Status()
			}
			o := manual()
			if strings.HasPrefix(in, "background") {
				o.Interval, o.Settle = time.Millisecond, -1
			}
			var fail atomic.Bool
			o.OnError = func(error) {
				call("OnError")
				call("background OnError")
			}
			o.Release = func(words) { call("Release") }
			within(t, func() {
				opened, name := open(t, o, func(f *mmapfile.File) (words, error) {
					call("load")
					call("background load")
					if fail.Load() {
						return words{}, errTest
					}
					return load(f)
				})
				v.Store(opened)
				fail.Store(strings.HasSuffix(in, "OnError"))
				opened.Use(func(words) error { call("Use"); return nil })
				if !end || in != "Use" {
					replace(t, name, content(2))
				}
				if o.Interval < 0 {
					opened.Refresh()
				}
				eventually(t, "called in "+in, func() bool { return called.Load() > 0 })
				err := opened.Close()
				if end != errors.Is(err, os.ErrClosed) {
					t.Errorf("%s: Close returned %v", in, err)
				}
				eventually(t, "all is released", func() bool { return opened.Status().Open == 0 })
			})
		}
	}
}

// Close in the background beside Use and Refresh: no deadlock, and all is released.
func TestClose_BesideCalls(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	for range filetest.Iterations(100) {
		var loads, releases atomic.Int32
		o := Options[words]{Interval: time.Microsecond, Settle: -1, Copy: copies, Release: func(words) { releases.Add(1) }}
		v, name := open(t, o, func(f *mmapfile.File) (words, error) {
			w, err := load(f)
			if err == nil {
				loads.Add(1)
			}
			return w, err
		})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for {
					if err := v.Use(func(words) error { return nil }); err != nil {
						return
					}
				}
			})
			all.Go(func() {
				for {
					if _, err := v.Refresh(); errors.Is(err, os.ErrClosed) {
						return
					}
				}
			})
		}
		for n := range uint64(5) {
			replace(t, name, content(n))
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		within(t, all.Wait)
		eventually(t, "all is released", func() bool { return v.Status().Open == 0 })
		if loads.Load() != releases.Load() {
			t.Fatalf("%d loads, %d releases", loads.Load(), releases.Load())
		}
	}
}

// All is released when Close returns, whatever the goroutine of the Value does meanwhile.
func TestClose_BesideLooks(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	name := filetest.Temp(t, content(1))
	for range filetest.Iterations(4000) {
		v, err := Options[words]{Interval: time.Microsecond, Settle: -1, Copy: copies}.Open(name, load)
		if err != nil {
			t.Fatal(err)
		}
		looked := v.Status().Looked
		for v.Status().Looked.Equal(looked) {
			runtime.Gosched()
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if n := v.Status().Open; n != 0 {
			t.Fatalf("%d versions are open", n)
		}
	}
}

func TestClose_After(t *testing.T) {
	t.Parallel()
	v, _ := open(t, manual(), load)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if n := v.Status().Open; n != 0 {
		t.Errorf("%d versions are open", n)
	}
	_, refreshed := v.Refresh()
	used := v.Use(func(words) error { t.Error("called"); return nil })
	for _, err := range []error{v.Close(), refreshed, used} {
		if !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}

// A Value that was not closed is released once it is unreachable.
func TestClose_Unreachable(t *testing.T) {
	t.Parallel()
	released := make(chan words, 1)
	name := filetest.Temp(t, content(1))
	o := manual()
	o.Release = func(w words) { released <- w }
	v, err := o.Open(name, load)
	if err != nil {
		t.Fatal(err)
	}
	uses(t, v, 1)
	eventually(t, "it is released", func() bool {
		runtime.GC()
		return len(released) == 1
	})
}

// A Value is reachable during its last call.
func TestRefresh_LastCall(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, content(1))
	collect := false
	v, err := manual().Open(name, func(f *mmapfile.File) (words, error) {
		for range 5 {
			if collect {
				runtime.GC()
				time.Sleep(10 * time.Millisecond) // for the cleanups
			}
		}
		return load(f)
	})
	if err != nil {
		t.Fatal(err)
	}
	collect = true
	replace(t, name, content(2))
	refresh(t, v, true) // not used any more
}

func TestStatus_Fields(t *testing.T) {
	t.Parallel()
	began := time.Now()
	v, name := open(t, manual(), load)
	replace(t, name, content(2))
	old := began.Add(-time.Hour)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	refresh(t, v, true)
	sure(v)
	refresh(t, v, false)
	eventually(t, "the first version is released", func() bool { return v.Status().Open == 1 })
	s := v.Status()
	if s.Since.Before(began) || s.Looked.Before(s.Since) || s.ModTime.Sub(old).Abs() > 2*time.Second || s.Size != size || s.Err != nil || s.Taken != 2 {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if changed, err := v.Refresh(); changed || !errors.Is(err, fs.ErrNotExist) || v.Status().Err != err {
		t.Error(changed, err)
	}
	uses(t, v, 2)
}
