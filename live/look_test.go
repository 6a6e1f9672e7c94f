package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// settle is longer than any test. pass lets it pass for the candidate.
const settle = time.Hour

func (s *state[T]) pass() {
	s.looking.Lock()
	defer s.looking.Unlock()
	s.candidate.since = s.candidate.since.Add(-settle)
}

// lookAt looks as the goroutine of v would.
func lookAt(t testing.TB, v *Value[words], changed bool, want error) {
	t.Helper()
	s := v.state
	s.looking.Lock()
	defer s.looking.Unlock()
	if got, err := s.look(settle); got != changed || err != want {
		t.Fatalf("a look returned %v, %v instead of %v, %v", got, err, changed, want)
	}
}

// A version that grows is not loaded until it was unchanged for the time of Settle.
func TestSettle_SlowCopy(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	if runtime.GOOS == "windows" {
		replace(t, name, nil)
	} else if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	b := content(2)
	for n := 8; n <= len(b); n += 4096 {
		filetest.Write(t, name, b[:n])
		lookAt(t, v, false, errSettling)
		v.state.pass()
	}
	filetest.Write(t, name, b)
	lookAt(t, v, false, errSettling)
	lookAt(t, v, false, errSettling)
	uses(t, v, 1)
	v.state.pass()
	lookAt(t, v, true, nil)
	uses(t, v, 2)
	sure(v)
	lookAt(t, v, false, nil)
}

// A version that is in place while it is written is not loaded either.
func TestSettle_InPlace(t *testing.T) {
	t.Parallel()
	o := manual()
	o.Copy = true // else the first version changes, too
	v, name := open(t, o, load)
	rewrite(t, name, content(2)[:size/2])
	lookAt(t, v, false, errSettling)
	v.state.pass()
	rewrite(t, name, content(2))
	lookAt(t, v, false, errSettling)
	uses(t, v, 1)
	v.state.pass()
	lookAt(t, v, true, nil)
	uses(t, v, 2)
}

// A file that is replaced between any two looks still advances: the version that was first seen is
// held, and its removal is no change of it.
func TestSettle_ReplacedAgainAndAgain(t *testing.T) {
	t.Parallel()
	if copies {
		t.Skip("a version is not held open here")
	}
	v, name := open(t, manual(), load)
	for n := range uint64(10) {
		replace(t, name, content(10+2*n))
		lookAt(t, v, false, errSettling)
		v.state.pass()
		replace(t, name, content(11+2*n))
		lookAt(t, v, true, nil)
		uses(t, v, 10+2*n)
	}
}

// A version that came and went before it had settled is dropped, and Refresh waits for none.
func TestSettle_Back(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	if copies {
		t.Skip("the first file cannot be kept beside")
	}
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	replace(t, name, content(2))
	lookAt(t, v, false, errSettling)
	refresh(t, v, true)
	if v.state.candidate.file != nil {
		t.Error("the candidate is still there")
	}
	uses(t, v, 2)
	if err := os.Rename(name+".1", name); err != nil {
		t.Fatal(err)
	}
	lookAt(t, v, false, errSettling)
	replace(t, name, content(3))
	lookAt(t, v, false, errSettling)
	v.state.pass()
	lookAt(t, v, true, nil)
	uses(t, v, 1)
}

// Refresh takes what has the name now, not the version that is held, and Close leaves none open.
func TestSettle_RefreshAndClose(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	replace(t, name, content(2))
	lookAt(t, v, false, errSettling)
	replace(t, name, content(3))
	refresh(t, v, true)
	uses(t, v, 3)
	replace(t, name, content(4))
	lookAt(t, v, false, errSettling)
	if err := v.Close(); err != nil || v.state.candidate.file != nil {
		t.Errorf("after Close the candidate is open: %v", err)
	}
}

// A version that came and went is dropped also if the current one is then as it was.
func TestSettle_LinkBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right")
	}
	name := filepath.Join(filetest.Dir(t), "data")
	point := func(n uint64) {
		t.Helper()
		if err := os.Symlink(fmt.Sprint(name, ".", n), name+".link"); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(name+".link", name); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(4) {
		filetest.Write(t, fmt.Sprint(name, ".", n), content(n))
	}
	point(1)
	v, err := manual().Open(name, load)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	sure(v)
	point(2)
	lookAt(t, v, false, errSettling)
	point(1)
	lookAt(t, v, false, nil)
	v.state.pass()
	point(3)
	lookAt(t, v, false, errSettling)
	uses(t, v, 1)
}

// A version that was removed before it had settled is not loaded when the name is there again: it may never have
// been whole.
func TestSettle_Removed(t *testing.T) {
	t.Parallel()
	if copies {
		t.Skip("a version is not held open here")
	}
	v, name := open(t, manual(), load)
	for _, gone := range []func(){
		func() {},
		func() {
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		replace(t, name, content(2))
		lookAt(t, v, false, errSettling)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		gone()
		v.state.background()
		if v.Status().Err == nil || v.state.candidate.file != nil {
			t.Error("a removed version is held open")
		}
		v.state.pass()
		os.Remove(name)
		filetest.Write(t, name, content(3))
		lookAt(t, v, false, errSettling)
		uses(t, v, 1)
	}
}

// The name is missing for a moment: the current version goes on.
func TestLook_NameMissing(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	if err := os.Rename(name, name+".old"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Refresh(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	uses(t, v, 1)
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Refresh(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a directory: %v", err)
	}
	uses(t, v, 1)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, name, content(2))
	refresh(t, v, true)
	uses(t, v, 2)
}

// A version that does not load, or that changes while it is loaded, is not taken. What load returned
// for the latter is released.
func TestLook_Rejected(t *testing.T) {
	t.Parallel()
	var released []words
	var mu sync.Mutex
	o := manual()
	o.Copy = false
	o.Release = func(w words) {
		mu.Lock()
		defer mu.Unlock()
		released = append(released, w)
	}
	var name string
	var during func(n uint64)
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		w, err := load(f)
		if err != nil || during == nil {
			return w, err
		}
		n, err := w.number()
		during(n)
		return w, err
	})
	if copies {
		t.Skip("needs to replace a mapped file")
	}
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	during = func(uint64) { // in place, with the size that it has
		f := filetest.OpenFile(t, name, os.O_WRONLY)
		if _, err := f.WriteAt(content(3), 0); err != nil {
			t.Error(err)
		}
		if err := os.Chtimes(name, time.Time{}, fi.ModTime().Add(-time.Hour)); err != nil {
			t.Error(err)
		}
	}
	replace(t, name, content(2))
	if changed, err := v.Refresh(); changed || !errors.Is(err, errChanged) {
		t.Errorf("changed meanwhile: %v, %v", changed, err)
	}
	uses(t, v, 1)
	eventually(t, "the rejected version is released", func() bool { return v.Status().Open == 1 })
	mu.Lock()
	if len(released) != 1 {
		t.Errorf("%d are released", len(released))
	}
	mu.Unlock()

	during = func(uint64) { replace(t, name, content(5)) } // replaced, not changed: it is a version
	replace(t, name, content(4))
	refresh(t, v, true)
	uses(t, v, 4)
	during = nil
	refresh(t, v, true)
	uses(t, v, 5)

	replace(t, name, content(6)[:100])
	if changed, err := v.Refresh(); changed || err == nil {
		t.Errorf("does not load: %v, %v", changed, err)
	}
	uses(t, v, 5)
	eventually(t, "the version before is released", func() bool { return v.Status().Open == 1 })
}

// A fault of load is an error.
func TestLook_TruncatedInLoad(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	filetest.NeedFaultAddresses(t)
	if !filetest.CanMap {
		t.Skip("the memory is a copy")
	}
	truncate := false
	var name string
	v, name := open(t, manual(), func(f *mmapfile.File) (words, error) {
		p := f.Bytes()
		if truncate {
			if err := os.Truncate(name, 0); err != nil {
				return words{}, err
			}
		}
		filetest.LoadBytes(p)
		return load(f)
	})
	truncate = true
	replace(t, name, content(2))
	var pe *fs.PathError
	if changed, err := v.Refresh(); changed || !errors.As(err, &pe) {
		t.Error(changed, err)
	}
	uses(t, v, 1)
}

// A panic of load goes on from Refresh, and is an error in the background. So is runtime.Goexit,
// which does not end the goroutine of the Value.
func TestLook_PanicInLoad(t *testing.T) {
	t.Parallel()
	for text, end := range map[string]func(){"panic: an error of the test": func() { panic(errTest) }, "runtime.Goexit was called": runtime.Goexit} {
		errs := make(chan error, 100)
		o := Options[words]{Interval: time.Millisecond, Settle: -1, Copy: copies, OnError: func(err error) { errs <- err }}
		var v *Value[words]
		var name string
		v, name = open(t, o, func(f *mmapfile.File) (words, error) {
			w, err := load(f)
			if n, _ := w.number(); n == 2 {
				end()
			}
			return w, err
		})
		replace(t, name, content(2))
		within(t, func() {
			err := <-errs
			for pe := new(fs.PathError); copies && errors.As(err, &pe) && pe.Op == "open"; { // it was just being replaced: a sharing violation
				err = <-errs
			}
			if !strings.Contains(err.Error(), text) {
				t.Error(err)
			}
		})
		uses(t, v, 1)
		replace(t, name, content(3))
		eventually(t, "the next version is taken", func() bool { return v.Status().Taken >= 2 })
		uses(t, v, 3)
		within(t, func() { v.Close() })
		if n := v.Status().Open; n != 0 {
			t.Errorf("%s: %d versions are open", text, n)
		}
	}

	panics := false
	v, name := open(t, manual(), func(f *mmapfile.File) (words, error) {
		if panics {
			panic(errTest)
		}
		return load(f)
	})
	panics = true
	replace(t, name, content(2))
	if r := filetest.Recovered(func() { v.Refresh() }); r != errTest {
		t.Errorf("recovered %v", r)
	}
	panics = false
	refresh(t, v, true)
	uses(t, v, 2)
}

// A load that fails, in whatever way, is not tried again at once.
func TestLook_AfterFailure(t *testing.T) {
	t.Parallel()
	o := manual()
	o.Interval, o.Settle = time.Hour, -1
	fail := func() error { return nil }
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		if err := fail(); err != nil {
			return words{}, err
		}
		return load(f)
	})
	replace(t, name, content(2))
	for _, fail = range []func() error{func() error { return errTest }, func() error { panic(errTest) }} {
		if next := v.state.background(); next < time.Hour {
			t.Errorf("the next look is in %v", next)
		}
		if err := v.Status().Err; !errors.Is(err, errTest) {
			t.Error(err)
		}
	}
}

// A panic of Release, or runtime.Goexit, is an error, and the file is closed nevertheless.
func TestRelease_PanicAndGoexit(t *testing.T) {
	t.Parallel()
	for text, end := range map[string]func(){"panic: an error of the test": func() { panic(errTest) }, "runtime.Goexit was called": runtime.Goexit} {
		var texts []string
		o := manual()
		o.OnError = func(err error) { texts = append(texts, err.Error()) }
		o.Release = func(words) { end() }
		v, name := open(t, o, load)
		replace(t, name, content(2))
		refresh(t, v, true)
		eventually(t, "the first version is released", func() bool { return v.Status().Open == 1 })
		within(t, func() { v.Close() })
		// The look may end between the two releases, and then the second error is news, too.
		if n := v.Status().Open; n != 0 || len(texts) < 1 || len(texts) > 2 || !strings.Contains(texts[0], text) {
			t.Errorf("%s: %d versions are open; %q", text, n, texts)
		}
	}
}

// A version that does not load because load returns such an error is reported as any other.
func TestRefresh_InsideLoadFails(t *testing.T) {
	t.Parallel()
	o := manual()
	told := 0
	o.OnError = func(error) { told++ }
	var v *Value[words]
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		if v != nil {
			if _, err := v.Refresh(); err != nil {
				return words{}, err
			}
		}
		return load(f)
	})
	replace(t, name, content(2))
	for range 2 {
		if changed, err := v.Refresh(); changed || !errors.Is(err, errBusy) || !errors.Is(v.Status().Err, errBusy) || told != 1 {
			t.Errorf("%v, %v; OnError was called %d times", changed, err, told)
		}
	}
	uses(t, v, 1)
}

// The Status is that of a version once Use gets it.
func TestStatus_BeforeUse(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	for n := range uint64(50) {
		replace(t, name, content(n+2))
		done := make(chan bool)
		go func() {
			defer close(done)
			if _, err := v.Refresh(); err != nil {
				t.Error(err)
			}
		}()
		for {
			var got uint64
			if err := v.Use(func(w words) (err error) { got, err = w.number(); return err }); err != nil {
				t.Fatal(err)
			}
			if got == n+2 {
				break
			}
			runtime.Gosched()
		}
		if taken := v.Status().Taken; taken < int64(n)+2 {
			t.Fatalf("version %d is used, and %d were taken", n+2, taken)
		}
		<-done
	}
}

// Refresh inside load cannot wait for the look that it is part of. That is an error of this call, and not
// of the file.
func TestRefresh_InsideLoad(t *testing.T) {
	t.Parallel()
	o := manual()
	o.OnError = func(err error) { t.Error(err) }
	var v *Value[words]
	inside := errTest
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		if v != nil {
			_, inside = v.Refresh()
		}
		return load(f)
	})
	replace(t, name, content(2))
	within(t, func() { refresh(t, v, true) })
	if !errors.Is(inside, errBusy) || v.Status().Err != nil {
		t.Error(inside, v.Status().Err)
	}
	err := v.Use(func(words) error { // it waits for nothing here
		replace(t, name, content(3))
		changed, err := v.Refresh()
		if !changed {
			t.Error("not changed")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	uses(t, v, 3)
}

// OnError gets each error once, however often it is met, and again after a success.
func TestOnError_Changes(t *testing.T) {
	t.Parallel()
	var got []error
	o := manual()
	o.OnError = func(err error) { got = append(got, err) }
	v, name := open(t, o, load)
	meet := func(n int) {
		t.Helper()
		for range 3 {
			v.Refresh()
		}
		if len(got) != n {
			t.Fatalf("after %d errors OnError got %v", n, got)
		}
	}
	meet(0)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	meet(1)
	filetest.Write(t, name, nil)
	meet(2)
	v.state.options.Settle = settle
	v.state.background() // it holds the version again, which is no success
	meet(2)
	filetest.Write(t, name, content(2))
	meet(2)
	uses(t, v, 2)
	replace(t, name, nil)
	meet(3)
}

// Kubernetes switches a link to the directory of the link's target.
func TestLook_LinkSwitched(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a link to a directory is not replaced")
	}
	dir := filetest.Dir(t)
	point := func(to, link string) {
		t.Helper()
		link = filepath.Join(dir, link)
		if err := os.Symlink(to, link+".new"); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(link+".new", link); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(2) {
		at := filepath.Join(dir, string(rune('1'+n)))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, filepath.Join(at, "data"), content(n+1))
	}
	point("1", "..data")
	point(filepath.Join("..data", "data"), "data")
	v, err := manual().Open(filepath.Join(dir, "data"), load)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	uses(t, v, 1)
	point("2", "..data")
	if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	refresh(t, v, true)
	uses(t, v, 2)
	sure(v)
	refresh(t, v, false)
}

// On Unix, a rewrite that leaves size and modification time as they were is another version.
func TestLook_SameTime(t *testing.T) {
	t.Parallel()
	v, name := open(t, manual(), load)
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if changeTime(fi).Nanosecond() == 0 {
		t.Skip("there is no change time, or a coarse one")
	}
	filetest.Write(t, name, content(2))
	if err := os.Chtimes(name, time.Time{}, fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	refresh(t, v, true)
	uses(t, v, 2)
}

// A version that may have changed with the same times is loaded once more, two seconds after.
func TestLook_Unsure(t *testing.T) {
	t.Parallel()
	v, _ := open(t, manual(), load)
	s := v.state
	s.taken.at = s.taken.last() // as if the file had been looked at in the moment of its change
	if s.looking.Lock(); !s.taken.unsure() || s.taken.due(s.taken.at.Add(coarse-1)) || !s.taken.due(s.taken.at.Add(coarse)) {
		t.Error("not due after two seconds")
	}
	s.looking.Unlock()
	eventually(t, "it is loaded again", func() bool {
		changed, err := v.Refresh()
		return changed && err == nil
	})
	refresh(t, v, false)
	uses(t, v, 1)
}

func TestStamp_Unsure(t *testing.T) {
	t.Parallel()
	second := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		changed time.Time
		age     time.Duration
		unsure  bool
	}{
		{second, coarse - 1, true},
		{second, coarse, false},
		{second.Add(1), -time.Hour, true}, // the clock of a server
	} {
		s := stamp{changed: c.changed, at: c.changed.Add(c.age)}
		if s.unsure() != c.unsure || s.due(c.changed.Add(coarse)) != c.unsure {
			t.Errorf("%v after %v: %v", c.age, c.changed, s.unsure())
		}
	}
}
