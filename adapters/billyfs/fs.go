//go:build !js

// Package billyfs is go-billy's osfs, except that package mmapfile opens the files that are
// only read.
//
// A program gains if it reads the same pages of a file again, in small calls, as go-git
// does. Files that are written, names and directories gain nothing: see
// docs/where-it-pays.md of package mmapfile.
//
// Unlike with osfs.WithMmap, a file that is truncated while it is read causes an error, and
// does not end the process.
//
//	dotGit := billyfs.New(filepath.Join(dir, ".git"))
//	storage := filesystem.NewStorage(dotGit, cache.NewObjectLRUDefault())
//	repository, err := git.Open(storage, billyfs.New(dir))
//
// This module is v0: a minor version may change its API.
package billyfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/helper/chroot"
	"github.com/go-git/go-billy/v6/osfs"

	"go.dw1.io/mmapfile"
)

// FS opens files for reading with package mmapfile. Everything else is [osfs.BoundOS].
type FS struct{ *osfs.BoundOS }

// RootFS opens files for reading with package mmapfile. Everything else is [osfs.RootOS].
type RootFS struct {
	*osfs.RootOS
	root *os.Root
}

var (
	_ billy.Filesystem = FS{}
	_ billy.Capable    = FS{}
	_ billy.Filesystem = RootFS{}
	_ billy.Capable    = RootFS{}
)

// New returns the file system below the directory dir, as [osfs.New] does.
func New(dir string) billy.Filesystem { return FS{osfs.New(dir).(*osfs.BoundOS)} }

// FromRoot returns the file system below root, as [osfs.FromRoot] does. Unlike that of New, it does not open the
// directory for each file. The caller closes root.
func FromRoot(root *os.Root) (billy.Filesystem, error) {
	base, err := osfs.FromRoot(root)
	if err != nil {
		return nil, err
	}
	return RootFS{base, root}, nil
}

// Open opens a file for reading.
func (f FS) Open(name string) (billy.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file. If package mmapfile cannot open it, osfs does, or returns the error.
func (f FS) OpenFile(name string, flag int, perm fs.FileMode) (billy.File, error) {
	if flag == os.O_RDONLY {
		dir := f.Root()
		if native := filepath.FromSlash(name); filepath.IsAbs(native) && dir == string(filepath.Separator) {
			dir = filepath.VolumeName(native) + dir // the whole file system, on the volume of the name
		}
		if root, err := os.OpenRoot(dir); err == nil {
			defer func() { _ = root.Close() }()
			if opened, err := open(root, f.Root(), name); err == nil {
				return opened, nil
			}
		}
	}
	return f.BoundOS.OpenFile(name, flag, perm)
}

// Open opens a file for reading.
func (f RootFS) Open(name string) (billy.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file, as [FS.OpenFile] does.
func (f RootFS) OpenFile(name string, flag int, perm fs.FileMode) (billy.File, error) {
	if flag == os.O_RDONLY {
		if opened, err := open(f.root, f.Root(), name); err == nil {
			return opened, nil
		}
	}
	return f.RootOS.OpenFile(name, flag, perm)
}

// open opens a file for reading. root is the directory dir, which is the start of absolute names.
func open(root *os.Root, dir, name string) (billy.File, error) {
	rel := relative(dir, name)
	shown := rel
	if native := filepath.FromSlash(name); filepath.IsAbs(native) && filepath.Dir(dir) == dir {
		shown = filepath.Clean(native) // the whole file system, where osfs keeps the absolute name
	}
	opened, err := mmapfile.OpenRoot(root, rel, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return file{opened, shown}, nil
}

// relative returns the name below dir. A name that starts with a slash is relative to dir, too.
func relative(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	separator := string(filepath.Separator)
	rel := strings.TrimLeft(filepath.Join(separator, name[len(filepath.VolumeName(name)):]), separator)
	if rel == "" {
		return "."
	}
	return rel
}

// Chroot returns the file system below the directory path.
func (f FS) Chroot(path string) (billy.Filesystem, error) {
	sub, err := f.BoundOS.Chroot(path)
	if err != nil {
		return nil, err
	}
	return New(sub.Root()), nil
}

// Chroot returns the file system below the directory path, as [osfs.RootOS.Chroot] does.
func (f RootFS) Chroot(path string) (billy.Filesystem, error) {
	sub, err := f.RootOS.Chroot(path)
	if err != nil {
		return nil, err
	}
	return chroot.New(f, sub.Root()), nil
}

// file is an open file, with the name that osfs gives it.
type file struct {
	*mmapfile.File
	name string
}

func (f file) Name() string { return f.name }

// Slice returns part of the memory that Bytes returns, or nil if the file does not have all of it. The two are
// the interface Mmap that go-billy is about to have (pull request 226).
func (f file) Slice(off, length int64) []byte {
	if length < 0 || int64(int(length)) != length {
		return nil
	}
	p, err := mmapfile.SliceAt[byte](f.File, off, int(length))
	if err != nil {
		return nil
	}
	return p
}
