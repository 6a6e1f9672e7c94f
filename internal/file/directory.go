package file

import (
	"io/fs"
)

// Chdir is the method of mmapfile.File.
func (f *File) Chdir() error {
	return f.check(f.inner.Chdir())
}

// ReadDir is the method of mmapfile.File.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := f.inner.ReadDir(n)
	if c := f.cold.Load(); c != nil && c.entries != nil {
		c.entries(list, n <= 0)
	}
	return list, err
}

// Readdir is the method of mmapfile.File.
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	return f.inner.Readdir(n)
}

// Readdirnames is the method of mmapfile.File.
func (f *File) Readdirnames(n int) (names []string, err error) {
	return f.inner.Readdirnames(n)
}
