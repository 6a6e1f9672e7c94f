package file

import (
	"errors"
	"io"
	"time"

	"go.dw1.io/mmapfile/internal/length"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// Reads, writes and copies by system call, with what each of them means for the File. All do
// the same, in this order, and leave out what does not apply. A copy may panic in code of the
// caller, so what must follow it is deferred.
//
//  1. writeBack: the system sees what was stored into memory
//  2. length.Before, so that a truncation meanwhile is noticed
//  3. Enter and Leave of the cursor around the call, if it is one at the kernel's offset, and
//     Begin and, here or later, End of f.writes around a write that holds no lock
//  4. the length that the call has shown, or that it is unknown
//  5. refresh: memory shows what the call has written
//  6. noteRead or noteWrite: which pages are in memory, and whether mapping pays
//  7. check: whether the inner file was closed
//
// Each return after a system call costs some 20 ns where the kernel clears the processor's
// stack of return addresses, for each frame that was there before. So ReadAt, WriteAt, Read,
// Write and Seek of File make the first three steps and the call themselves if they use no
// mapping. The functions that end in Done are what comes after it.

// readInner is os.File.ReadAt, unless f is private. tried says that b was first copied from the mapping, in vain.
func (f *File) readInner(b []byte, off int64, tried bool) (n int, err error) {
	if f.private() {
		return f.readPrivate(b, off)
	}
	f.writeBack(off, len(b))
	was := f.length.Before()
	n, err = f.inner.ReadAt(b, off)
	return n, f.readAtDone(was, off, n, len(b), tried, err)
}

// readAtDone follows a ReadAt of size bytes, of which n were read.
func (f *File) readAtDone(was length.Before, off int64, n, size int, tried bool, err error) error {
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
	f.noteRead(off, int64(n), n < size, tried)
	return f.check(err)
}

// early counts a call that has read n bytes at off without an error, and reports whether it needs no
// more work: its pages are not recorded, and it says nothing new about the length, of which known was
// known before.
func (f *File) early(known, off int64, n int, tried bool) bool {
	return n > 0 && (off+int64(n) <= known || f.m.Load() == nil && !f.length.Current()) && f.pages.Early(n, tried)
}

// onWrite is set by tests that make other calls while a write is in flight.
var onWrite func(f *File)

// timesWrite reports whether writeInner times b: what it saves to map it matters once the file is mapped, and has it.
func (f *File) timesWrite(b []byte, off int64) bool {
	return f.m.Load() != nil && f.pages.TimesWrite(len(b)) && off+int64(len(b)) <= f.length.Known()
}

// writeInner is os.File.WriteAt. The range is locked, or the write is counted.
func (f *File) writeInner(b []byte, off int64) (n int, err error) {
	f.writeBack(off, len(b))
	was, began := f.length.Before(), time.Time{}
	if onWrite != nil {
		onWrite(f)
	}
	if f.timesWrite(b, off) {
		began = time.Now()
	}
	n, err = f.inner.WriteAt(b, off)
	if err == nil && n > 0 && !began.IsZero() {
		f.pages.Took(pages.Write, int64(n), time.Since(began))
	}
	return n, f.writeAtDone(was, b, off, n, err)
}

// writeAtDone follows a WriteAt of b, of which n bytes were written.
func (f *File) writeAtDone(was length.Before, b []byte, off int64, n int, err error) error {
	if n > 0 {
		f.length.Reached(was, off+int64(n))
		f.refresh(b[:n], off)
		if err == nil && f.pages.Early(n, false) {
			return nil
		}
		f.noteWrite(off, int64(n), was.Known)
	}
	if err != nil {
		f.movedEnd() // os.File does not report what WriteAt wrote before an error
		f.pages.Synced(off, off+int64(len(b)))
	}
	return f.check(err)
}

// readDone follows a Read of size bytes at the kernel's offset. off is what Leave of the cursor
// has returned.
func (f *File) readDone(off int64, n, size int, err error) error {
	if err == io.EOF {
		f.length.Stale() // this was the end, at whatever offset
	} else if off+int64(n) > f.length.Known() && f.length.Current() {
		f.length.Stale() // another program has made it longer
	}
	f.noteRead(off, int64(n), n < size, false)
	return f.check(err)
}

// writeEnters begins a Write at the kernel's offset.
func (f *File) writeEnters() (counted bool) {
	f.writeBack(0, -1)
	if counted = f.cur.Enter(f.inner); counted { // else no write is mapped any more
		f.writes.BeginAnywhere()
	}
	return counted
}

// writeDone follows a Write at the kernel's offset.
func (f *File) writeDone(counted bool, n int, err error) error {
	if counted {
		f.writes.End()
	}
	off := f.cur.Leave(counted, int64(n))
	if n > 0 || err != nil { // a write that is not durable may have made the file longer
		f.movedEnd()
	}
	if n > 0 && !f.pages.Early(n, false) {
		f.noteWrite(off, int64(n), f.length.Known())
	}
	return f.check(err)
}

// lateErrors reports whether a write may return the error of an earlier one, once: it is durable
// when it returns, or the storage is remote. Then no failed write may be repeated.
func (f *File) lateErrors() bool {
	if m := f.m.Load(); m != nil && m.writes {
		return false
	}
	storage := f.storageOf()
	return f.flag&sys.FlagsSync != 0 || storage&sys.StorageSync != 0 || storage.Kind() == sys.StorageRemote
}

// writeSeeked is Write as a system call at the kernel's offset, which is not in use because the
// File holds the cursor.
func (f *File) writeSeeked(b []byte) (n int, err error) {
	off := f.cur.Pos()
	f.writeBack(off, len(b))
	if _, err := f.inner.Seek(off, io.SeekStart); err != nil {
		return 0, f.fail("write", cause(err))
	}
	was := f.length.Before()
	f.writes.BeginAnywhere()
	n, err = f.inner.Write(b)
	f.writes.End()
	return n, f.writeAtDone(was, b, off, n, err)
}

// writeAgain repeats a Write that has failed with the error first. os.File.WriteAt does not
// report how much it wrote before an error, but Write does. A repeated write that does not fail in
// the same way says nothing of the first one, of which no byte is reported then.
func (f *File) writeAgain(b []byte, first error) (n int, err error) {
	n, err = f.writeSeeked(b)
	if !errors.Is(err, cause(first)) {
		return 0, first
	}
	return n, err
}

// movedEnd notes that a call wrote bytes at an unknown offset.
func (f *File) movedEnd() {
	f.length.Stale()
	f.refresh(nil, 0)
}

// seekDone follows a Seek of the kernel's offset to pos.
func (f *File) seekDone(counted bool, pos int64, err error) error {
	if err == nil {
		f.sought(pos)
	}
	f.cur.Leave(counted, 0)
	return f.check(err)
}

// noteCopied records that n bytes at off were copied by the kernel. off is negative if it is
// not known. ended says that they were the last of the file.
func (f *File) noteCopied(off, n int64, ended bool) {
	end, known := off+n, f.length.Known()
	if f.length.Current() && (off < 0 || end > known || ended && end != known) {
		f.length.Stale()
	}
}

// kernelCopy runs copy, a copy at the kernel's offsets from src to dst. One of them may be
// nil, because it is no File. limit bounds the copy, unless it is nil.
func kernelCopy(src, dst *File, limit *io.LimitedReader, copy func() (int64, error)) (n int64, err error) {
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
