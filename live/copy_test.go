package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A copy does not change with the file, has no name after Close, on Unix never, and the file itself
// is not open.
func TestCopy_InPlace(t *testing.T) {
	for _, private := range []bool{false, true} {
		tmp := filetest.Dir(t)
		t.Setenv("TMPDIR", tmp)
		t.Setenv("TMP", tmp) // of Windows
		o := manual()
		o.Copy, o.File = true, mmapfile.Options{Private: private}
		v, name := open(t, o, load)
		for n := range uint64(3) {
			rewrite(t, name, content(9))
			uses(t, v, n+1)
			rewrite(t, name, nil)
			if changed, err := v.Refresh(); changed || err == nil {
				t.Error(changed, err)
			}
			uses(t, v, n+1)
			if err := os.Remove(name); err != nil {
				t.Fatal(err) // on Windows, if it were open
			}
			if list := copiesIn(t, tmp); runtime.GOOS != "windows" && len(list) != 0 {
				t.Errorf("copies with a name: %v", list)
			}
			filetest.Write(t, name, content(n+2))
			rewrite(t, name, content(n+2))
			refresh(t, v, true)
			uses(t, v, n+2)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if list := copiesIn(t, tmp); len(list) != 0 {
			t.Errorf("copies after Close: %v", list)
		}
	}
}

// A file that changes while it is copied is not taken.
func TestCopy_Changed(t *testing.T) {
	t.Parallel()
	o := manual()
	o.Copy = true
	v, name := open(t, o, load)
	replace(t, name, content(2))
	s := v.state
	s.looking.Lock()
	s.look(settle)
	s.candidate.since = s.candidate.since.Add(-settle)
	c := s.candidate
	if c.file == nil {
		c.file = filetest.OpenReadOnly(t, name)
	}
	c.stamp.info, _ = os.Stat(os.Args[0]) // as if it had been another one before
	s.candidate = c
	changed, err := s.take()
	s.looking.Unlock()
	if changed || !errors.Is(err, errChanged) {
		t.Error(changed, err)
	}
	uses(t, v, 1)
	if n := v.Status().Open; n != 1 {
		t.Errorf("%d versions are open", n)
	}
}

// An error that names the copy is the same error each time, although copies have random names.
func TestCopy_SameError(t *testing.T) {
	var errs []error
	fail := false
	o := manual()
	o.Copy = true
	o.OnError = func(err error) { errs = append(errs, err) }
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		if fail {
			return words{}, &fs.PathError{Op: "test", Path: f.Name(), Err: errTest}
		}
		return load(f)
	})
	fail = true
	replace(t, name, content(2))
	for range 3 {
		v.Refresh()
	}
	if len(errs) != 1 || !errors.Is(errs[0], errTest) {
		t.Errorf("load: OnError got %v", errs)
	}
	errs = nil
	missing := filepath.Join(filetest.Dir(t), "missing")
	t.Setenv("TMPDIR", missing)
	t.Setenv("TMP", missing) // of Windows
	for range 3 {
		v.Refresh()
	}
	if len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("copy: OnError got %v", errs)
	}
}

// Windows lets no program replace a file that is open. So a Value without Copy keeps its version, and one with Copy
// gets the next.
func TestCopy_Windows(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "windows" {
		t.Skip("other systems replace files that are open")
	}
	for _, copied := range []bool{false, true} {
		o := manual()
		o.Copy = copied
		v, name := open(t, o, load)
		filetest.Write(t, name+".new", content(2))
		if err := os.Rename(name+".new", name); (err == nil) != copied {
			t.Errorf("with Copy %v, replacing the file returned %v", copied, err)
		}
		refresh(t, v, copied)
		if copied {
			uses(t, v, 2)
		} else {
			uses(t, v, 1)
		}
	}
}
