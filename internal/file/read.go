package file

import "io"

// maxRead is the most bytes that one Read moves, as internal/poll has it for os.File.
const maxRead = 1 << 30

// ReadAt is the method of mmapfile.File.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	ok, tried := false, false
	if m := f.m.Load(); m != nil && off >= 0 && len(b) > 0 {
		if f.covers(m, off, len(b)) {
			if ok, tried = f.load(m, b, int(off)); ok {
				return len(b), nil
			}
		} else if n, ok := f.loadEnd(m, b, off); ok {
			if n < len(b) {
				err = io.EOF
			}
			return n, err
		}
	}
	if f.private() {
		return f.readInner(b, off, tried)
	}
	f.writeBack(off, len(b)) // as readInner
	was := f.length.Before()
	n, err = f.inner.ReadAt(b, off)
	if err == nil && f.early(was.Known, off, n, tried) {
		return n, nil
	}
	return n, f.readAtDone(was, off, n, len(b), tried, err)
}

// covers reports whether n bytes at off lie inside the file, by the size that f knows, and
// inside the usable part of m. off is not negative.
func (f *File) covers(m *mapping, off int64, n int) bool {
	return off <= f.length.Known()-int64(n) && off <= int64(m.usable-n)
}

// loadEnd is load for a read that meets the end of the file. It copies the bytes before
// the end and then asks the file once whether that is still its end. The cheapest way to
// ask, a seek to the end, moves the kernel's offset. So loadEnd asks only if the File
// holds the cursor and no call uses it.
func (f *File) loadEnd(m *mapping, b []byte, off int64) (n int, ok bool) {
	if m.usable == 0 || !f.cur.TryLock(f.inner) {
		return 0, false
	}
	defer f.cur.Unlock()
	n, _, ok = f.loadEndLocked(m, b, off)
	return n, ok
}

// loadEndLocked is loadEnd with the cursor locked. last reports that the file ends after
// the n bytes.
func (f *File) loadEndLocked(m *mapping, b []byte, off int64) (n int, last, ok bool) {
	size := f.length.Known()
	if size > int64(m.usable) || off < size-int64(len(b)) || off > size {
		return 0, false, false // the kernel decides how far past the end a read may start
	}
	if off < size {
		n = int(size - off)
		if !f.loadKnown(m, b[:n], int(off)) {
			return 0, false, false
		}
	}
	if f.immutable {
		return n, true, true
	}
	now, err := f.seekEnd()
	if err != nil {
		return 0, false, false
	}
	if now != size {
		n = int(min(int64(len(b)), now-off))
		if now < size || now > int64(m.usable) {
			return 0, false, false
		}
		if n > 0 {
			ok, tried := f.load(m, b[:n], int(off))
			if tried && !ok {
				f.pages.Unproven(off, int64(n))
			}
			if !ok {
				return 0, false, false
			}
		}
	}
	return n, now == off+int64(n), true
}

// Read is the method of mmapfile.File.
func (f *File) Read(b []byte) (n int, err error) {
	if f.cur.LockHeld() || f.lockCursor() {
		n, err = f.readCursor(b)
		f.cur.Unlock()
		return n, err
	}
	f.writeBack(0, -1)
	counted := f.cur.Enter(f.inner)
	n, err = f.inner.Read(b)
	off := f.cur.Leave(counted, int64(n))
	if err == nil && f.early(f.length.Known(), off, n, false) {
		return n, nil
	}
	return n, f.readDone(off, n, len(b), err)
}

// readCursor is Read with the cursor locked and held by the File.
func (f *File) readCursor(b []byte) (n int, err error) {
	if len(b) == 0 {
		return f.inner.Read(b)
	}
	b = b[:min(len(b), maxRead)]
	off, ok, tried := f.cur.Pos(), false, false
	if m := f.m.Load(); m != nil {
		if f.covers(m, off, len(b)) {
			if ok, tried = f.load(m, b, int(off)); ok {
				f.cur.SetPos(off + int64(len(b)))
				return len(b), nil
			}
		} else if n, _, ok := f.loadEndLocked(m, b, off); ok {
			f.cur.SetPos(off + int64(n))
			if n == 0 {
				err = io.EOF
			}
			return n, err
		}
	}
	n, err = f.readInner(b, off, tried)
	if n > 0 {
		f.cur.SetPos(off + int64(n))
		err = nil // the next call returns it, as with one system call
	}
	return n, err
}

// Seek is the method of mmapfile.File.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if f.cur.LockHeld() || f.lockCursor() {
		n, err := f.seekCursor(offset, whence)
		f.cur.Unlock()
		return n, err
	}
	counted := f.cur.Enter(f.inner)
	n, err := f.inner.Seek(offset, whence)
	return n, f.seekDone(counted, n, err)
}

// seekCursor is Seek with the cursor locked and held by the File. The kernel judges each
// target that is not plainly inside the file. The kernel's own offset is not in use while
// the File keeps the cursor.
func (f *File) seekCursor(offset int64, whence int) (int64, error) {
	if f.private() {
		if err := f.stillOpen("seek"); err != nil {
			return 0, err
		}
		if whence == io.SeekEnd { // the file may be longer than what f shows
			if size := f.visibleLen(); size >= 0 {
				offset, whence = offset+size, io.SeekStart
			}
		}
	}
	if whence == io.SeekCurrent {
		offset += f.cur.Pos() // an overflow is negative, which the kernel refuses
		whence = io.SeekStart
	}
	if whence != io.SeekStart || offset < 0 || offset > f.length.Known() {
		var err error
		if offset, err = f.inner.Seek(offset, whence); err != nil {
			return 0, err
		}
	}
	f.cur.SetPos(offset)
	return offset, nil
}
