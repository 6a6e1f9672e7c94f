package mmapfile

import "io"

// size is the file's length as last known. It is current while sizeSeen == sizeGen. An
// append or a kernel copy, which moves the end to an unknown place, increments sizeGen. A
// call that asks the file sets sizeSeen to the value of sizeGen before it asked.

// staleSize notes that size may be wrong.
func (f *file) staleSize() { f.sizeGen.Add(1) }

// stat asks the file for its length. It remembers it unless another call learns a length
// meanwhile: then the newer one is unknown.
func (f *file) stat() (size int64, regular bool) {
	known, gen := f.size.Load(), f.sizeGen.Load()
	fi, err := f.inner.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return 0, false
	}
	if f.size.CompareAndSwap(known, fi.Size()) {
		f.sizeSeen.Store(gen)
	} else {
		f.staleSize()
	}
	return fi.Size(), true
}

// raise remembers that the file has reached end. A call found that out, and began when
// f.truncs was truncs.
func (f *file) raise(end int64, truncs uint32) {
	for size := f.size.Load(); size < end && !f.size.CompareAndSwap(size, end); {
		size = f.size.Load()
	}
	if truncs%2 != 0 || f.truncs.Load() != truncs {
		f.staleSize() // which came first, the end or the truncation?
	}
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
	if f.sizeSeen.Load() != f.sizeGen.Load() {
		// On Windows os.File.Stat does not see that Close has given the handle to another file.
		f.lockMappings()
		if !locked || !f.closed {
			size, regular = f.stat()
		}
		f.unlockMappings()
	}
	if !regular {
		size = f.size.Load()
	}
	return int(min(max(f.shown(size), 0), maxInt))
}

// ask returns the file's present length, or -1 if it has none that can be mapped. It does
// not allocate while the File holds the cursor.
func (f *file) ask() int64 { return f.shown(f.askFile()) }

// shown returns how much of a file of size bytes f shows. If f is private, that is at most
// the length at open, and -1 once f is closed. Otherwise it is all.
func (f *file) shown(size int64) int64 {
	if !f.private || size < 0 {
		return size
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return -1
	}
	return f.ownSize(size)
}

// ownSize is shown for an open private File. Called with mu held.
func (f *file) ownSize(size int64) int64 {
	m := f.m.Load()
	if m == nil {
		return 0 // the file was empty
	}
	return min(size, int64(len(m.data)))
}

func (f *file) askFile() int64 {
	if f.cur.state.Load() == cursorOurs && f.cur.mu.TryLock() {
		defer f.cur.mu.Unlock()
		if f.cur.state.Load() == cursorOurs {
			size, err := f.askEnd()
			if err != nil {
				return -1
			}
			return size
		}
	}
	size, regular := f.stat()
	if !regular {
		return -1
	}
	return size
}

// askEnd asks the file for its length, with the cursor locked and held by the File. The
// cheapest question moves the kernel's offset.
func (f *file) askEnd() (size int64, err error) {
	known := f.size.Load()
	size, err = f.inner.Seek(0, io.SeekEnd)
	if err == nil && size != known {
		f.size.CompareAndSwap(known, size)
	}
	return size, err
}
