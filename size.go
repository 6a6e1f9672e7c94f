package mmapfile

import "io"

// size is the file's length as last known. It is current while sizeSeen == sizeGen. An
// append or a kernel copy, which moves the end to an unknown place, increments sizeGen. A
// call that asks the file sets sizeSeen to the value of sizeGen before it asked.

// staleSize notes that size may be wrong.
func (f *file) staleSize() { f.sizeGen.Add(1) }

// sizeState is what was known of the length before a call that finds it out.
type sizeState struct {
	known               int64
	gen, truncs, learns uint32
}

// knownSize returns what is known of the length, and what tells whether that has changed.
func (f *file) knownSize() sizeState {
	was := sizeState{gen: f.sizeGen.Load(), truncs: f.truncs.Load(), learns: f.learns.Load()}
	was.known = f.size.Load() // last: a change of it fails learn
	return was
}

// learn remembers size, which the file had at some time since was. If another call has
// changed size meanwhile, which one is newer is unknown.
func (f *file) learn(was sizeState, size int64) {
	if size == was.known && f.sizeSeen.Load() == f.sizeGen.Load() {
		return
	}
	f.sizeMu.Lock()
	defer f.sizeMu.Unlock()
	// Counters, since size may have returned to an earlier value.
	if f.truncatedSince(was) || f.learns.Load() != was.learns || !f.size.CompareAndSwap(was.known, size) {
		f.staleSize()
		return
	}
	f.learns.Add(1)
	f.sizeSeen.Store(was.gen)
}

// raise remembers that the file has reached end at some time since was.
func (f *file) raise(was sizeState, end int64) {
	for size := f.size.Load(); size < end && !f.size.CompareAndSwap(size, end); {
		size = f.size.Load()
	}
	if f.truncatedSince(was) || f.learns.Load() != was.learns {
		f.staleSize() // which came first, the end or the truncation, which may be another process's?
	}
}

// truncatedSince reports whether a truncation of this File was in progress at was or later.
func (f *file) truncatedSince(was sizeState) bool {
	return was.truncs%2 != 0 || f.truncs.Load() != was.truncs
}

// countTruncation begins or ends a truncation. It waits for learn, which must not set an
// earlier size after the end.
func (f *file) countTruncation() {
	f.sizeMu.Lock()
	defer f.sizeMu.Unlock()
	f.truncs.Add(1)
}

// stat asks the file for its length, and remembers it.
func (f *file) stat() (size int64, regular bool) {
	was := f.knownSize()
	fi, err := f.inner.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return 0, false
	}
	f.learn(was, fi.Size())
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
	if f.sizeSeen.Load() != f.sizeGen.Load() {
		// On Windows os.File.Stat does not see that Close has given the handle to another file.
		f.lockMappings()
		if !closeNeedsLock || !f.closed {
			size, regular = f.stat()
		}
		f.unlockMappings()
	}
	if !regular {
		size = f.size.Load()
	}
	return int(min(max(f.shown(size), 0), maxInt))
}

// shownSize returns the file's present length, or -1 if it has none that can be mapped. It does
// not allocate while the File holds the cursor.
func (f *file) shownSize() int64 { return f.shown(f.fileSize()) }

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

// fileSize is shownSize of the file itself.
func (f *file) fileSize() int64 {
	if f.cur.state.Load() == cursorOurs && f.cur.mu.TryLock() {
		defer f.cur.mu.Unlock()
		if f.cur.state.Load() == cursorOurs {
			size, err := f.seekEnd()
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

// seekEnd asks the file for its length, with the cursor locked and held by the File. The
// cheapest question moves the kernel's offset.
func (f *file) seekEnd() (size int64, err error) {
	was := f.knownSize()
	size, err = f.inner.Seek(0, io.SeekEnd)
	if err == nil {
		f.learn(was, size)
	}
	return size, err
}
