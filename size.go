package mmapfile

import "io"

// What f.length knows may be stale. The functions here ask the file: stat, and seekEnd which is
// cheaper, but needs the cursor. fileLen asks by either. visibleLen is that for all but a
// private File, which shows no more than it has mapped.

// stat asks the file for its length, and remembers it.
func (f *file) stat() (size int64, regular bool) {
	was := f.length.Before()
	fi, err := f.inner.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return 0, false
	}
	f.length.Answered(was, fi.Size())
	return fi.Size(), true
}

// Len returns the file's length in bytes as last known. It makes a system call only the
// first time, and after an append or a ReadFrom by the kernel. Changes by other processes
// are seen by [File.Stat], and by Len after the next read that meets the end. The length is
// 0 if f is nil or not a regular file. A length above the range of int is the largest int.
func (f *File) Len() int {
	if f == nil {
		return 0
	}
	size, regular := int64(0), false
	if !f.length.Current() {
		// On Windows os.File.Stat does not see that Close has given the handle to another file.
		f.lockMappings()
		if !closeNeedsLock || !f.mu.Closed() {
			size, regular = f.stat()
		}
		f.unlockMappings()
	}
	if !regular {
		size = f.length.Known()
	}
	return int(min(max(f.visible(size), 0), maxInt))
}

// visibleLen returns the file's present length, or -1 if it has none that can be mapped. It does
// not allocate while the File holds the cursor.
func (f *file) visibleLen() int64 { return f.visible(f.fileLen()) }

// visible returns how much of a file of size bytes f shows. If f is private, that is at most
// the length at open, and -1 once f is closed. Otherwise it is all.
func (f *file) visible(size int64) int64 {
	if !f.private || size < 0 {
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
func (f *file) visibleLocked(size int64) int64 {
	m := f.m.Load()
	if m == nil {
		return 0 // the file was empty
	}
	return min(size, int64(len(m.data)))
}

// fileLen is visibleLen of the file itself.
func (f *file) fileLen() int64 {
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
func (f *file) seekEnd() (size int64, err error) {
	was := f.length.Before()
	size, err = f.inner.Seek(0, io.SeekEnd)
	if err == nil {
		f.length.Answered(was, size)
	}
	return size, err
}
