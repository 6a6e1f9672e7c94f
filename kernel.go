package mmapfile

import (
	"io"
	"time"
)

// Reads, writes and copies by system call, with what each of them means for the File. All do
// the same, in this order, and leave out what does not apply. A copy may panic in code of the
// caller, so what must follow it is deferred.
//
//  1. writeBack: the system sees what was stored into memory
//  2. length.Before, so that a truncation meanwhile is noticed
//  3. cursor.enter and leave around the call, if it is one at the kernel's offset
//  4. the length that the call has shown, or that it is unknown
//  5. refresh: memory shows what the call has written
//  6. noteRead or noteWrite: which pages are in memory, and whether mapping pays
//  7. check: whether the inner file was closed

// readInner is os.File.ReadAt.
func (f *file) readInner(b []byte, off int64) (n int, err error) {
	f.writeBack(off, len(b))
	was := f.length.Before()
	n, err = f.inner.ReadAt(b, off)
	if end := off + int64(n); n > 0 && end > was.Known {
		if f.m.Load() != nil { // else the file is asked when it is mapped
			f.length.Reached(was, end)
		}
		if f.length.Current() {
			f.length.Stale() // another program has made it longer
		}
	} else if err == io.EOF && end < was.Known {
		if n == 0 {
			f.length.Stale()
		} else {
			f.length.Answered(was, end)
		}
		f.pages.Truncated(end)
	}
	f.noteRead(off, int64(n), n < len(b))
	return n, f.check(err)
}

// onWrite is set by tests that make other calls while a write is in flight.
var onWrite func(f *file)

// writeInner is os.File.WriteAt. counted says that it holds no lock, and is to end the write
// that Begin of f.writes has begun.
func (f *file) writeInner(b []byte, off int64, counted bool) (n int, err error) {
	f.writeBack(off, len(b))
	was := f.length.Before()
	var began time.Time
	timed := f.pages.Times(len(b))
	if timed {
		began = time.Now()
	}
	if onWrite != nil {
		onWrite(f)
	}
	n, err = f.inner.WriteAt(b, off)
	if counted {
		f.writes.End()
	}
	if timed && err == nil {
		f.pages.SetSaving(time.Since(began))
	}
	if n > 0 {
		f.length.Reached(was, off+int64(n))
		f.refresh(b[:n], off)
		f.noteWrite(off, int64(n), was.Known)
	}
	if err != nil {
		f.movedEnd() // os.File does not report what WriteAt wrote before an error
	}
	return n, f.check(err)
}

// readNext is os.File.Read, at the kernel's offset.
func (f *file) readNext(b []byte) (n int, err error) {
	f.writeBack(0, -1)
	counted := f.cur.Enter(f.inner)
	n, err = f.inner.Read(b)
	off := f.cur.Leave(counted, int64(n))
	if err == io.EOF {
		f.length.Stale() // this was the end, at whatever offset
	} else if off+int64(n) > f.length.Known() && f.length.Current() {
		f.length.Stale() // another program has made it longer
	}
	if off >= 0 {
		f.noteRead(off, int64(n), n < len(b))
	}
	return n, f.check(err)
}

// writeNext is os.File.Write, at the kernel's offset.
func (f *file) writeNext(b []byte) (n int, err error) {
	f.writeBack(0, -1)
	counted := f.cur.Enter(f.inner)
	if counted {
		f.writes.BeginAnywhere()
		n, err = f.inner.Write(b)
		f.writes.End()
	} else {
		f.writes.Drain() // no write is mapped that begins after it
		n, err = f.inner.Write(b)
	}
	off := f.cur.Leave(counted, int64(n))
	if n > 0 {
		f.movedEnd()
		if off >= 0 {
			f.noteWrite(off, int64(n), f.length.Known())
		}
	}
	return n, f.check(err)
}

// writeAgain repeats a failed Write of a File that holds the cursor. os.File.WriteAt does not
// report how much it wrote before an error, but Write does. It sets the kernel's offset, which
// is not in use.
func (f *file) writeAgain(b []byte) (n int, err error) {
	if _, err := f.inner.Seek(f.cur.Pos(), io.SeekStart); err != nil {
		return 0, f.fail("write", cause(err))
	}
	f.writes.BeginAnywhere()
	n, err = f.inner.Write(b)
	f.writes.End()
	if n > 0 {
		f.movedEnd()
	}
	return n, err
}

// movedEnd notes that a call wrote bytes at an unknown offset.
func (f *file) movedEnd() {
	f.length.Stale()
	f.refresh(nil, 0)
}

// seekInner is os.File.Seek, of the kernel's offset.
func (f *file) seekInner(offset int64, whence int) (int64, error) {
	counted := f.cur.Enter(f.inner)
	n, err := f.inner.Seek(offset, whence)
	if err == nil {
		f.sought(n)
	}
	f.cur.Leave(counted, 0)
	return n, f.check(err)
}

// noteCopied records that n bytes at off were copied by the kernel. off is negative if it is
// not known. ended says that they were the last of the file.
func (f *file) noteCopied(off, n int64, ended bool) {
	end, known := off+n, f.length.Known()
	if f.length.Current() && (off < 0 || end > known || ended && end != known) {
		f.length.Stale()
	}
}

// kernelCopy runs copy, a copy at the kernel's offsets from src to dst. One of them may be
// nil, because it is no File. limit bounds the copy, unless it is nil.
func kernelCopy(src, dst *file, limit *io.LimitedReader, copy func() (int64, error)) (n int64, err error) {
	if dst != nil {
		dst.writeBack(0, -1)
		defer dst.movedEnd()
		counted := dst.cur.Enter(dst.inner)
		defer func() { dst.cur.Leave(counted, n) }()
		dst.writes.BeginAnywhere()
		defer dst.writes.End()
	}
	returned := false
	if src != nil {
		src.writeBack(0, -1)
		counted := src.cur.Enter(src.inner)
		defer func() {
			off := src.cur.Leave(counted, n)
			src.noteCopied(off, n, !returned || err == nil && (limit == nil || limit.N > 0))
		}()
		if src.copyInOrder() {
			defer src.readInOrder(false)
		}
	}
	n, err = copy()
	returned = true
	if src != nil {
		src.check(err)
	}
	if dst != nil {
		dst.check(err)
	}
	return n, err
}
