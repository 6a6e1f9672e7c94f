package mmapfile

// Memory and system calls must show the same bytes of a file. Most systems do that by
// themselves. OpenBSD needs system calls for it (see noUnifiedCache), and without mappings
// memory is a copy.

// copied reports whether Bytes has returned a copy, which is so only without mappings.
func (f *file) copied() bool { return f.copies.Load() != nil }

// writeBack makes bytes stored into memory visible to system calls: n bytes at off, or all if
// n is negative. What fails is reported by Sync and Close, which try it again.
func (f *file) writeBack(off int64, n int) error {
	if noUnifiedCache {
		return f.flush()
	}
	return f.writeBackCopies(off, n)
}

// refresh makes bytes that a system call has written visible to loads: b at off, or all if b
// is nil.
func (f *file) refresh(b []byte, off int64) {
	if noUnifiedCache {
		if m := f.m.Load(); m != nil {
			refreshMemory(m.data)
		}
	}
	f.refreshCopies(b, off)
}

// flush does the part of Sync that the inner file's does not do: it writes back what was
// stored into memory.
func (f *file) flush() (err error) {
	if !canMap {
		return f.writeBackCopies(0, -1)
	}
	f.lockMappings()
	defer f.unlockMappings()
	for m := f.m.Load(); m != nil; m = m.prev {
		n := int64(len(m.data))
		if mapsBeyondEnd {
			n = min(n, f.length.Known())
		}
		if m.writable && n > 0 {
			if e := flushMemory(m.data[:n]); err == nil {
				err = e
			}
		}
		if !closeNeedsLock { // on Windows each view is flushed separately
			break
		}
	}
	return err
}
