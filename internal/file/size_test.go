package file_test

import (
	"errors"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A write that began before a truncation, and is inside the file as it was then, extends it.
func TestLen_TruncatedDuringWrite(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	if n := f.Len(); n != 1000 {
		t.Fatal(n)
	}
	if n, err := file.WriteLate(f, make([]byte, 100), 500, func() {
		if err := f.Truncate(100); err != nil {
			t.Error(err)
		}
	}); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	if n := f.Len(); n != 600 {
		t.Errorf("Len is %d, want 600", n)
	}
}

// A write extends a file that another program has truncated. What a call has learnt before,
// and returns late, does not undo that.
func TestLen_LateAnswerAfterWrite(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(f *mmapfile.File) error{
		"Stat":   func(f *mmapfile.File) error { _, err := f.Stat(); return err },
		"ReadAt": func(f *mmapfile.File) error { _, err := f.ReadAt(make([]byte, 10), 0); return err },
	} {
		path := filetest.Temp(t, filetest.Pattern(1000))
		f := filetest.Open(t, path)
		if err := first(f); err != nil {
			t.Fatal(err)
		}
		f.Len()
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
		file.LearnLate(f, 100, func() {
			if _, err := f.WriteAt(make([]byte, 100), 100); err != nil {
				t.Error(err)
			}
		})
		if n := f.Len(); n != 200 {
			t.Errorf("%s: Len is %d, want 200", name, n)
		}
	}
}

// A program that gets the descriptor may change the length with it.
func TestLen_AfterHandOver(t *testing.T) {
	t.Parallel()
	for name, truncate := range map[string]func(f *mmapfile.File) error{
		"OS": func(f *mmapfile.File) error { return f.OS().Truncate(50) },
		"Fd": func(f *mmapfile.File) error { f.Fd(); return os.Truncate(f.Name(), 50) }, // ftruncate is not on each platform
		"SyscallConn": func(f *mmapfile.File) error {
			c, err := f.SyscallConn()
			if err != nil {
				return err
			}
			return errors.Join(c.Control(func(uintptr) { err = os.Truncate(f.Name(), 50) }), err)
		},
	} {
		f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100)))
		if n := f.Len(); n != 100 {
			t.Fatal(n)
		}
		if err := truncate(f); errors.Is(err, errors.ErrUnsupported) {
			continue // Plan 9
		} else if err != nil {
			t.Fatal(err)
		}
		if n := f.Len(); n != 50 {
			t.Errorf("%s: Len is %d, want 50", name, n)
		}
	}
}

// A write that ends late does not undo a truncation that came after its bytes.
func TestLen_TruncatedAfterWrite(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	f.Len()
	file.RaiseLate(f, 600, func() {
		if err := f.Truncate(100); err != nil {
			t.Fatal(err)
		}
	})
	if n := f.Len(); n != 100 {
		t.Errorf("Len is %d, want 100", n)
	}
}
