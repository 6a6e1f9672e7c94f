// Package aferofs provides a file system for afero that opens files with package mmapfile.
//
// A program gains if it reads or writes the same pages of a file again, in small calls.
// Files that are read once or appended to, names and directories gain nothing: see
// docs/where-it-pays.md of package mmapfile.
//
//	files := afero.NewBasePathFs(aferofs.New(), dir)
//
// This module is v0: a minor version may change its API.
package aferofs

import (
	"io/fs"
	"os"

	"github.com/spf13/afero"

	"go.dw1.io/mmapfile"
)

var _ afero.File = (*mmapfile.File)(nil)

// Fs opens files with package mmapfile. Everything else is [afero.OsFs].
type Fs struct{ afero.OsFs }

var (
	_ afero.Fs        = Fs{}
	_ afero.Symlinker = Fs{}
)

// New returns the file system of the operating system, as [afero.NewOsFs] does.
func New() afero.Fs { return Fs{} }

// Name returns the name of this kind of file system.
func (Fs) Name() string { return "mmapfile" }

// Create creates or truncates a file, as [os.Create] does.
func (f Fs) Create(name string) (afero.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file for reading, as [os.Open] does.
func (f Fs) Open(name string) (afero.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file, as [os.OpenFile] does.
func (Fs) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f, err := mmapfile.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *File, which would be an afero.File
	}
	return f, nil
}
