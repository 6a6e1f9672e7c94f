package mmapfile

import (
	"io/fs"
	"os"
)

// Stat returns what [os.File.Stat] returns, so that [os.SameFile] works on it. If there
// were mapped writes, it first moves the modification time.
func (f *File) Stat() (fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
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

// Name returns the name that was given at open, as [os.File.Name] does, also after Close.
// It panics if f is nil, as that does.
func (f *File) Name() string {
	return f.inner.Name()
}

// Chmod changes the file's mode, as [os.File.Chmod] does, with its errors.
func (f *File) Chmod(mode fs.FileMode) error {
	if f == nil {
		return os.ErrInvalid
	}
	f.endPeriod() // so that the next write is the kernel's, which clears set-user-ID
	return f.check(f.inner.Chmod(mode))
}

// Chown changes the file's owner and group, as [os.File.Chown] does, with its errors.
func (f *File) Chown(uid, gid int) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.check(f.inner.Chown(uid, gid))
}
