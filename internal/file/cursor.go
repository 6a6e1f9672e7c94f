package file

import "go.dw1.io/mmapfile/internal/sys"

// internal/cursor says who holds the offset at which Read, Write and Seek continue.

// lockCursor locks the cursor for use by the File until it is unlocked, and reports whether
// it did. It takes the cursor from the kernel when the file is mapped, or a copy of it is
// in memory: then calls need to know the offset. It also does so after many calls of Seek.
func (f *File) lockCursor() bool {
	return f.cur.Lock(f.inner, f.m.Load() != nil || f.copied())
}

// sought records a Seek by system call. After some, the File takes the cursor, so that each
// further one saves a system call. Only a regular file on a local file system is known to
// give the same bytes at an offset as at the cursor.
func (f *File) sought(pos int64) {
	if !f.cur.Sought(pos) || !canMap || closeNeedsLock || noUnifiedCache {
		return
	}
	if size, regular := f.stat(); regular && size > 0 && f.storageOf().Kind() != sys.StorageRemote {
		f.cur.Want()
	}
}

// ownDescriptor reports whether only the File has the descriptor. Other code that has it may
// change its flags, and has advice of its own.
func (f *File) ownDescriptor() bool { return !f.cur.Shared() }
