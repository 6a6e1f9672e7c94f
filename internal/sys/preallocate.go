package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenSized is os.OpenFile for a file that needs at least size bytes, with their blocks.
// O_TRUNC waits until there is room. If there is none, a file that did not exist before is
// removed again: see abandon.
func OpenSized(name string, flag int, perm fs.FileMode, size int64) (*os.File, error) {
	f, created, err := openNoTruncate(name, flag, perm)
	if err != nil {
		return nil, err
	}
	writable := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if err := makeSize(f, size, writable, flag&os.O_TRUNC != 0 && created == ""); err != nil {
		abandon(f, created)
		return nil, err
	}
	return f, nil
}

// abandon closes f. If it was created at that path, the file is removed, unless another descriptor of it
// is open: what is appended by that one must stay.
func abandon(f *os.File, created string) {
	if created == "" || openElsewhere(f) {
		f.Close()
		return
	}
	fi, err := f.Stat()
	f.Close() // before Remove, for Windows
	if err == nil {
		removeEmpty(created, fi)
	}
}

// removeEmpty removes the file at path if it is still fi, and empty: another
// process may have written to it, or put another file there.
func removeEmpty(path string, fi fs.FileInfo) {
	now, err := os.Lstat(path)
	if err == nil && os.SameFile(fi, now) && now.Size() == 0 {
		os.Remove(path)
	}
}

// openNoTruncate opens without O_TRUNC. created is the path of a file that is new.
func openNoTruncate(name string, flag int, perm fs.FileMode) (f *os.File, created string, err error) {
	flag &^= os.O_TRUNC
	if flag&os.O_CREATE == 0 {
		f, err = os.OpenFile(name, flag, perm)
		return f, "", err
	}
	f, err = os.OpenFile(name, flag|os.O_EXCL, perm)
	if err == nil {
		return f, name, nil
	}
	if flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	// A symbolic link to a missing target exists, too: its target is created now.
	_, serr := os.Stat(name)
	// With O_CREATE again, because the system may refuse such a call on an existing file.
	f, err = os.OpenFile(name, flag, perm)
	if err == nil && errors.Is(serr, fs.ErrNotExist) {
		created, _ = filepath.EvalSymlinks(name)
	}
	return f, created, err
}

// makeSize gives f its size and blocks. An error leaves its content, and also what another process
// appends meanwhile. If the disk was full in the middle of it, blocks or zeros after the end may stay.
func makeSize(f *os.File, size int64, writable, truncate bool) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	old := fi.Size()
	if !fi.Mode().IsRegular() || !writable && (old < size || truncate) {
		return fs.ErrInvalid
	}
	if !writable {
		return nil
	}
	if truncate {
		if err := mayHave(f, size); err != nil {
			return err // which Allocate asks only for a file that grows
		}
	}
	if err := Allocate(f, size); err != nil || !truncate {
		return err
	}
	// There is room now. The calls below can still fail if another process takes it.
	if err := f.Truncate(0); err != nil {
		return err
	}
	return Allocate(f, size)
}
