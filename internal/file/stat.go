package file

import (
	"io/fs"
	"os"
)

// Stat is the method of mmapfile.File.
func (f *File) Stat() (fs.FileInfo, error) {
	f.innerClosed()
	f.endPeriod()
	f.lockMappings() // see Len
	defer f.unlockMappings()
	was := f.length.Before()
	fi, err := f.inner.Stat()
	switch {
	case err != nil:
		return nil, err
	case closeNeedsLock && f.mu.Closed():
		return nil, f.fail("stat", os.ErrClosed)
	case fi.Mode().IsRegular():
		f.length.Answered(was, fi.Size())
	}
	return fi, nil
}

// Name is the method of mmapfile.File.
func (f *File) Name() string {
	return f.inner.Name()
}

// Chmod is the method of mmapfile.File.
func (f *File) Chmod(mode fs.FileMode) error {
	f.endPeriod() // so that the next write is the kernel's, which clears set-user-ID
	return f.check(f.inner.Chmod(mode))
}

// Chown is the method of mmapfile.File.
func (f *File) Chown(uid, gid int) error {
	return f.check(f.inner.Chown(uid, gid))
}
