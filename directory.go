package mmapfile

import (
	"io/fs"
	"os"
)

// Chdir changes the current working directory to the file, which must be a directory, as
// [os.File.Chdir] does, with its errors.
func (f *File) Chdir() error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.check(f.inner.Chdir())
}

// ReadDir reads the entries of the directory f, as [os.File.ReadDir] does, with its errors.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	list, err := f.inner.ReadDir(n)
	if c := f.cold.Load(); c != nil && c.dir != nil {
		c.dir.entries(list, n <= 0)
	}
	return list, err
}

// Readdir reads the entries of the directory f with their FileInfo, as
// [os.File.Readdir] does, with its errors.
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.inner.Readdir(n)
}

// Readdirnames reads the names in the directory f, as [os.File.Readdirnames] does,
// with its errors.
func (f *File) Readdirnames(n int) (names []string, err error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.inner.Readdirnames(n)
}
