package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// openSized is os.OpenFile for a file that is to have at least size bytes, with
// their blocks. O_TRUNC waits until it is sure that there is room, and a file that
// was not there before is removed again if there is none.
func openSized(name string, flag int, perm fs.FileMode, size int64) (*os.File, error) {
	f, created, err := openNoTruncate(name, flag, perm)
	if err != nil {
		return nil, err
	}
	writable := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if err := makeSize(f, size, writable, flag&os.O_TRUNC != 0 && !created); err != nil {
		f.Close()
		if created {
			os.Remove(name)
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return f, nil
}

// openNoTruncate opens without O_TRUNC and says whether the file is new.
func openNoTruncate(name string, flag int, perm fs.FileMode) (f *os.File, created bool, err error) {
	flag &^= os.O_TRUNC
	if flag&os.O_CREATE == 0 {
		f, err = os.OpenFile(name, flag, perm)
		return f, false, err
	}
	f, err = os.OpenFile(name, flag|os.O_EXCL, perm)
	if err == nil || flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
		return f, err == nil, err
	}
	// With O_CREATE again, for what the system refuses to such a call.
	f, err = os.OpenFile(name, flag, perm)
	return f, false, err
}

// makeSize gives f its size and blocks. An error leaves its length and content,
// and what others append meanwhile.
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
	if err := allocate(f, size); err != nil || !truncate {
		return err
	}
	// There is room now. What another process takes in between is its error.
	if err := f.Truncate(0); err != nil {
		return err
	}
	return allocate(f, size)
}

// writeZeros makes f size bytes long by writing zeros behind its end, where the
// system has no better way. What is a hole before the end stays one.
func writeZeros(f *os.File, size int64) (err error) {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if size <= fi.Size() {
		return nil
	}
	if runtime.GOOS == "js" && size > 1<<53 {
		return fs.ErrInvalid // JavaScript has no such numbers, and Truncate panics
	}
	// A length that cannot be shall not fill the disk first.
	if err := f.Truncate(size); err != nil {
		return err
	}
	if err := f.Truncate(fi.Size()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Truncate(fi.Size())
		}
	}()
	// At the cursor, since WriteAt refuses a file opened for appending.
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	var zeros [64 << 10]byte
	for left := size - fi.Size(); left > 0 && err == nil; {
		var n int
		n, err = f.Write(zeros[:min(left, int64(len(zeros)))])
		left -= int64(n)
	}
	if _, serr := f.Seek(0, io.SeekStart); err == nil {
		err = serr
	}
	return err
}

// cause is the error inside a *fs.PathError.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
