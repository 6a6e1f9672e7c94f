package aferofs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/afero"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/adapters/aferofs"
)

// script makes calls on files, and returns what they gave.
func script(t *testing.T, files afero.Fs) (lines []string) {
	t.Helper()
	add := func(what string, result ...any) {
		for i, r := range result {
			if err, ok := r.(error); ok {
				kind := "another error"
				for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, fs.ErrPermission, io.EOF} {
					if errors.Is(err, known) {
						kind = known.Error()
					}
				}
				result[i] = fmt.Sprintf("%T %s", err, kind)
			}
		}
		lines = append(lines, what+": "+fmt.Sprintln(result...))
	}
	_, err := files.Open("none")
	add("open what is not there", err)
	f, err := files.Create("file")
	add("create", err)
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.WriteString("some content\n")
	add("write", n, err)
	n, err = f.WriteAt([]byte("any"), 0)
	add("write at", n, err)
	_, err = files.OpenFile("file", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	add("create what is there", err)
	b := make([]byte, 20)
	n, err = f.ReadAt(b, 2)
	add("read at", n, err, string(b[:n]))
	off, err := f.Seek(-3, io.SeekEnd)
	add("seek", off, err)
	n, err = f.Read(b)
	add("read", n, err, string(b[:n]))
	add("truncate", f.Truncate(4), f.Sync())
	info, err := f.Stat()
	add("stat", info.Name(), info.Size(), info.Mode(), err)
	add("close", f.Close(), f.Close())
	_, err = f.Read(b)
	add("read after close", err)

	f, err = files.OpenFile("file", os.O_WRONLY|os.O_APPEND, 0)
	add("append", err)
	n, err = f.Write([]byte("more"))
	add("write", n, err)
	_, err = f.Read(b)
	add("read what is open for writing", err)
	add("close", f.Close())
	content, err := afero.ReadFile(files, "file")
	add("content", string(content), err)

	add("directories", files.MkdirAll("a/b", 0o755), files.Mkdir("a/b", 0o755))
	add("rename", files.Rename("file", "a/file"), files.Rename("file", "a/other"))
	add("time", files.Chtimes("a/file", time.Unix(1, 0), time.Unix(2, 0)), files.Chmod("a/file", 0o600))
	dir, err := files.Open("a")
	add("open a directory", err)
	names, err := dir.Readdirnames(-1)
	add("names", len(names), err, dir.Close())
	add("links", files.(afero.Linker).SymlinkIfPossible("file", "a/link"))
	info, lstat, err := files.(afero.Lstater).LstatIfPossible("a/link")
	add("lstat", info.Mode()&fs.ModeSymlink != 0, lstat, err)
	add("remove", files.Remove("a"), files.RemoveAll("a"), files.Remove("a"))
	return lines
}

// Each call gives what it gives with afero's own file system.
func TestFs_LikeOsFs(t *testing.T) {
	want := script(t, afero.NewBasePathFs(afero.NewOsFs(), t.TempDir()))
	got := script(t, afero.NewBasePathFs(aferofs.New(), t.TempDir()))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, with afero's own %s", got[i], want[i])
		}
	}
}

func TestFs_TestFS(t *testing.T) {
	files := afero.NewBasePathFs(aferofs.New(), t.TempDir())
	names := []string{"a", "b/c", "b/d/e"}
	for _, name := range names {
		if err := files.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := afero.WriteFile(files, name, []byte(strings.Repeat(name, 10_000)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := fstest.TestFS(afero.NewIOFS(files), names...); err != nil {
		t.Error(err)
	}
}

func TestFs_Files(t *testing.T) {
	files := aferofs.New()
	if files.Name() == afero.NewOsFs().Name() {
		t.Errorf("its name is %s", files.Name())
	}
	name := filepath.Join(t.TempDir(), "file")
	for _, open := range []func() (afero.File, error){
		func() (afero.File, error) { return files.Create(name) },
		func() (afero.File, error) { return files.Open(name) },
		func() (afero.File, error) { return files.OpenFile(name, os.O_RDWR, 0) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.(*mmapfile.File); !ok {
			t.Errorf("a file is a %T", f)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if f, err := files.Open(name + "none"); f != nil || err == nil {
		t.Errorf("what is not there is %v, %v", f, err)
	}
}
