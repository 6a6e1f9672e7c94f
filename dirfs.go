package mmapfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// DirFS returns a file system for the files below the directory dir, as
// [os.DirFS] does, of which Open gives a *[File]: what serves files, such as
// http.FileServerFS, reads them from mappings once that pays. It also has the
// methods of [fs.StatFS], [fs.ReadDirFS], [fs.ReadFileFS] and [fs.ReadLinkFS].
// It may be used concurrently, and has nothing to be closed; dir is looked up
// at every call, and "" is [fs.ErrInvalid] there.
//
// Unlike in os.DirFS, a name does not lead out of dir, neither by ".." nor by a
// symbolic link: [os.Root] says what is refused. Errors are *[fs.PathError]
// with the name that was given, and [fs.ErrInvalid] for one that is not valid
// ([fs.ValidPath]) or that no file of this system can have
// ([filepath.Localize]).
func DirFS(dir string) fs.FS { return dirFS(dir) }

type dirFS string

var (
	_ fs.StatFS     = dirFS("")
	_ fs.ReadDirFS  = dirFS("")
	_ fs.ReadFileFS = dirFS("")
	_ fs.ReadLinkFS = dirFS("")
)

func (d dirFS) Open(name string) (fs.File, error) {
	local, err := filepath.Localize(name)
	if err != nil || d == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := OpenInRoot(string(d), local)
	if err != nil {
		return nil, dirError("open", name, err)
	}
	return f, nil
}

func (d dirFS) Stat(name string) (fi fs.FileInfo, err error) {
	err = d.in("stat", name, func(r fs.FS) error {
		fi, err = fs.Stat(r, name)
		return err
	})
	return fi, err
}

func (d dirFS) Lstat(name string) (fi fs.FileInfo, err error) {
	err = d.in("lstat", name, func(r fs.FS) error {
		fi, err = fs.Lstat(r, name)
		return err
	})
	return fi, err
}

func (d dirFS) ReadLink(name string) (target string, err error) {
	err = d.in("readlink", name, func(r fs.FS) error {
		target, err = fs.ReadLink(r, name)
		return err
	})
	return target, err
}

func (d dirFS) ReadFile(name string) (b []byte, err error) {
	err = d.in("readfile", name, func(r fs.FS) error {
		b, err = fs.ReadFile(r, name)
		return err
	})
	return b, err
}

func (d dirFS) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.in("readdir", name, func(r fs.FS) error {
		list, err = fs.ReadDir(r, name)
		return err
	})
	return list, err
}

// in calls fn with what is below the directory.
func (d dirFS) in(op, name string, fn func(r fs.FS) error) error {
	if _, err := filepath.Localize(name); err != nil || d == "" {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(d))
	if err == nil {
		defer root.Close()
		err = fn(root.FS())
	}
	return dirError(op, name, err)
}

// dirError names the file as the caller did, and the operation as os.DirFS does.
func dirError(op, name string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		switch {
		case pe.Op == "read":
			op = "read" // ReadFile has opened it
		case op == "readfile" || op == "readdir":
			op = "open"
		}
		return &fs.PathError{Op: op, Path: name, Err: pe.Err}
	}
	return err
}
