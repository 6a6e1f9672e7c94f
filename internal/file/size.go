package file

import (
	"errors"
	"io"
	"math"

	"go.dw1.io/mmapfile/internal/sys"
)

// What f.length knows may be stale. The functions here ask the file: stat, and seekEnd which is
// cheaper, but needs the cursor. fileLen asks by either. visibleLen is that for all but a
// private File, which shows no more than it has mapped.

// stat asks the file for its length, and remembers it.
func (f *File) stat() (size int64, regular bool) {
	size, err := f.statLen()
	return size, err == nil
}

var errNotRegular = errors.New("not a regular file")

// statLen is stat with the reason why there is no length.
func (f *File) statLen() (int64, error) {
	was := f.length.Before()
	size, regular, err := sys.Length(f.inner)
	if err == nil && !regular {
		f.length.None()
		err = errNotRegular
	}
	if err != nil {
		return 0, err
	}
	f.length.Answered(was, size)
	return size, nil
}

// Len is the method of mmapfile.File.
func (f *File) Len() int64 {
	size := f.length.Known()
	if known := size < math.MaxInt64; !known || !f.length.Current() {
		if !known {
			size = 0 // most likely it is not a regular file
		}
		// On Windows os.File.Stat does not see that Close has given the handle to another file.
		f.lockMappings()
		if !closeNeedsLock || !f.mu.Closed() {
			if now, err := f.statLen(); err == nil || err == errNotRegular {
				size = now
			}
		}
		f.unlockMappings()
	}
	return max(f.visible(size), 0)
}

// visibleLen returns the file's present length, or -1 if it has none that can be mapped. It does
// not allocate while the File holds the cursor.
func (f *File) visibleLen() int64 {
	if f.innerClosed() {
		return -1
	}
	return f.visible(f.fileLen())
}

// visible returns how much of a file of size bytes f shows. If f is private, that is at most
// the length at open, and -1 once f is closed. Otherwise it is all.
func (f *File) visible(size int64) int64 {
	if !f.private() || size < 0 {
		return size
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.mu.Closed() {
		return -1
	}
	return f.visibleLocked(size)
}

// visibleLocked is visible for an open private File. Called with mu held.
func (f *File) visibleLocked(size int64) int64 {
	m := f.m.Load()
	if m == nil {
		return 0 // the file was empty
	}
	return min(size, int64(len(m.data)))
}

// fileLen is visibleLen of the file itself.
func (f *File) fileLen() int64 {
	if f.cur.TryLockInFile() {
		defer f.cur.Unlock()
		size, err := f.seekEnd()
		if err != nil {
			return -1
		}
		return size
	}
	size, regular := f.stat()
	if !regular {
		return -1
	}
	return size
}

// seekEnd asks the file for its length, with the cursor locked and held by the File. The
// cheapest question moves the kernel's offset.
func (f *File) seekEnd() (size int64, err error) {
	was := f.length.Before()
	size, err = f.inner.Seek(0, io.SeekEnd)
	if err == nil {
		f.length.Answered(was, size)
	}
	return size, err
}
