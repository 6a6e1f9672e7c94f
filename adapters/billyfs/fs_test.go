//go:build !js

package billyfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	"github.com/go-git/go-billy/v6/util"

	"go.dw1.io/mmapfile/adapters/billyfs"
)

// hasBytes reports whether a file is one of package mmapfile.
func hasBytes(f billy.File) bool {
	_, ok := f.(interface{ Bytes() []byte })
	return ok
}

// A file system of all files gives them the names that osfs does. On Windows it opens them on the
// volume that they name.
func TestFS_OpenAllFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	volume := filepath.VolumeName(name)
	for _, root := range []string{"", "/", volume + "/"} {
		for _, name := range []string{name, filepath.ToSlash(name), filepath.Join(name, "..", "file"), name[len(volume):], name[len(volume)+1:], "/", "."} {
			f, err := billyfs.New(root).Open(name)
			g, werr := osfs.New(root).Open(name)
			if (err == nil) != (werr == nil) {
				t.Errorf("%q in %q: %v, with osfs %v", name, root, err, werr)
			}
			if err != nil || werr != nil {
				continue
			}
			if f.Name() != g.Name() {
				t.Errorf("%q in %q has the name %s, with osfs %s", name, root, f.Name(), g.Name())
			}
			fi, err := f.Stat()
			want, werr := g.Stat()
			if err != nil || werr != nil || !os.SameFile(fi, want) {
				t.Errorf("%q in %q is another file: %v, %v", name, root, err, werr)
			}
			if err := errors.Join(f.Close(), g.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// fromRoot returns a file system of an os.Root of dir, and that of osfs.
func fromRoot(t *testing.T, dir string) (files, base billy.Filesystem) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if files, err = billyfs.FromRoot(root); err != nil {
		t.Fatal(err)
	}
	if base, err = osfs.FromRoot(root); err != nil {
		t.Fatal(err)
	}
	return files, base
}

// Each way to name a file is that of osfs.
func TestFS_Open(t *testing.T) {
	dir := t.TempDir()
	testOpen(t, dir, billyfs.New(dir), osfs.New(dir))
}

func TestRootFS_Open(t *testing.T) {
	dir := t.TempDir()
	files, base := fromRoot(t, dir)
	testOpen(t, dir, files, base)
}

func testOpen(t *testing.T, dir string, files, base billy.Filesystem) {
	t.Helper()
	if err := util.WriteFile(base, "a/file", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside"), []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(base.Symlink("file", "a/link"), base.Symlink("../../outside", "a/escape")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name   string
		mapped bool
	}{
		{"a/file", true}, {"/a/file", true}, {"a/../a//file", true}, {"../a/file", true}, {filepath.Join(dir, "a", "file"), true},
		{"a/link", true}, {"a", true}, {"", true}, {"none", false}, {"a/escape", false}, {"../outside", false},
	} {
		f, err := files.Open(c.name)
		g, werr := base.Open(c.name)
		if (err == nil) != (werr == nil) || err != nil && err.Error() != werr.Error() {
			t.Errorf("%s: %v, with osfs %v", c.name, err, werr)
		}
		if err != nil || werr != nil {
			if c.mapped {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if hasBytes(f) != c.mapped {
			t.Errorf("%s is a %T", c.name, f)
		}
		if f.Name() != g.Name() {
			t.Errorf("%s has the name %s, with osfs %s", c.name, f.Name(), g.Name())
		}
		if err := errors.Join(f.Close(), g.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestFS_Chroot(t *testing.T) {
	files := billyfs.New(t.TempDir())
	if err := util.WriteFile(files, "a/file", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	sub, err := files.Chroot("a")
	if err != nil {
		t.Fatal(err)
	}
	f, err := sub.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	if !hasBytes(f) {
		t.Errorf("a file is a %T", f)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sub.Open("../file"); err != nil { // the root is the root's parent
		t.Error(err)
	}
	if _, err := files.Open("file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestFS_Write(t *testing.T) {
	files := billyfs.New(t.TempDir())
	f, err := files.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if hasBytes(f) {
		t.Errorf("a file that is written is a %T", f)
	}
	if _, err := f.Write([]byte("content")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if !billy.CapabilityCheck(files, billy.Capabilities(osfs.New("."))) {
		t.Error("it has fewer capabilities than osfs")
	}
}

// Files of a file system have the methods that go-billy and go-git look for.
func TestFS_Descriptor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	rooted, _ := fromRoot(t, filepath.Dir(dir))
	sub, err := rooted.Chroot(filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]billy.Filesystem{"New": billyfs.New(dir), "FromRoot and Chroot": sub} {
		f, err := files.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		var fd uintptr
		switch f := f.(type) {
		case interface{ Fd() (uintptr, bool) }:
			fd, _ = f.Fd()
		case interface{ Fd() uintptr }: // on Windows
			fd = f.Fd()
		}
		if fd == 0 || fd == ^uintptr(0) {
			t.Errorf("%s: no descriptor of a %T", name, f)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// mmap is the interface of go-billy's pull request 226.
type mmap interface {
	Bytes() []byte
	Slice(off, length int64) []byte
}

func TestFS_Mmap(t *testing.T) {
	files := billyfs.New(t.TempDir())
	if err := util.WriteFile(files, "file", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := files.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	m := f.(mmap)
	if got := string(m.Bytes()); got != "content" {
		t.Errorf("Bytes: %q", got)
	}
	if got := m.Slice(3, 4); string(got) != "tent" || cap(got) != 4 {
		t.Errorf("Slice: %q, capacity %d", got, cap(got))
	}
	for _, c := range [][2]int64{{-1, 2}, {0, -1}, {3, 5}, {8, 1}, {1 << 62, 1 << 62}} {
		if got := m.Slice(c[0], c[1]); got != nil {
			t.Errorf("Slice(%d, %d): %q", c[0], c[1], got)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if m.Bytes() != nil || m.Slice(0, 1) != nil {
		t.Error("memory of a closed file")
	}
}
