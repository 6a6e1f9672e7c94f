package mmapfile

// Memory and system calls must show the same bytes of a file. Most systems do that by
// themselves. OpenBSD needs system calls for it (see split), and without mappings memory is
// a copy.

// settle makes bytes stored into memory visible to system calls: n bytes at off, or all if
// n is negative.
func (f *file) settle(off int64, n int) error {
	if split {
		return f.flush()
	}
	if !canMap {
		return f.settleCopies(off, n)
	}
	return nil
}

// reload makes bytes that a system call has written visible to loads: b at off, or all if b
// is nil.
func (f *file) reload(b []byte, off int64) {
	if split {
		if m := f.m.Load(); m != nil {
			reloadMemory(m.data)
		}
	}
	if !canMap {
		f.reloadCopies(b, off)
	}
}

// flush does the part of Sync that the inner file's does not do: it writes back what was
// stored into memory.
func (f *file) flush() (err error) {
	if !canMap {
		return f.settleCopies(0, -1)
	}
	f.lockMappings()
	defer f.unlockMappings()
	for m := f.m.Load(); m != nil; m = m.prev {
		n := int64(len(m.data))
		if mapsBeyondEnd {
			n = min(n, f.size.Load())
		}
		if m.writable && n > 0 {
			if e := flushMemory(m.data[:n]); err == nil {
				err = e
			}
		}
		if !locked { // on Windows each view is flushed separately
			break
		}
	}
	return err
}
