package mmapfile

import "io"

// size is the file's length as last known. It is current while sizeSeen equals sizeGen.
// What moves the end to an unknown place, an append or a kernel copy, counts in
// sizeGen. A call that asks the file sets sizeSeen to what sizeGen was before it asked.

// staleSize notes that size may be wrong.
func (f *file) staleSize() { f.sizeGen.Add(1) }

// stat asks the file for its length, and remembers it unless another call
// learns of one meanwhile: then which is newer is not known.
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

// raise remembers that the file has reached end, which a call has found out
// that began when f.truncs was truncs.
func (f *file) raise(end int64, truncs uint32) {
	for size := f.size.Load(); size < end && !f.size.CompareAndSwap(size, end); {
		size = f.size.Load()
	}
	if truncs%2 != 0 || f.truncs.Load() != truncs {
		f.staleSize() // which came first, the end or the truncation?
	}
}

// Len returns the file's length in bytes as last known. It makes no system call,
// unless this File has not asked yet, or an append or a kernel copy has made the
// length uncertain; what other processes change is seen by [File.Stat], and here after
// the next read that meets the end. What is not a regular file, and a nil f, has
// length 0; a length beyond the range of int is the largest int.
func (f *File) Len() int {
	if f == nil {
		return 0
	}
	size, regular := int64(0), false
	if f.sizeSeen.Load() != f.sizeGen.Load() {
		size, regular = f.stat()
	}
	if !regular {
		size = f.size.Load()
	}
	return int(min(max(f.shown(size), 0), maxInt))
}

// ask is the file's present length, or -1 where it has none that can be
// mapped. It does not allocate while the cursor is with us.
func (f *file) ask() int64 { return f.shown(f.askFile()) }

// shown returns how much of a file of size bytes f shows: all, or if it is private
// what there was when it was opened, and -1 once it is closed.
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

// ownSize is shown for a private File that is open. Called with mu held.
func (f *file) ownSize(size int64) int64 {
	m := f.m.Load()
	if m == nil {
		return 0 // it was empty
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

// askEnd asks the file for its length with the cursor locked and ours, since the
// cheapest question moves the kernel's offset.
func (f *file) askEnd() (size int64, err error) {
	known := f.size.Load()
	size, err = f.inner.Seek(0, io.SeekEnd)
	if err == nil && size != known {
		f.size.CompareAndSwap(known, size)
	}
	return size, err
}
