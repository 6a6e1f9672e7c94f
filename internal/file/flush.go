package file

import (
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"go.dw1.io/mmapfile/internal/flush"
	"go.dw1.io/mmapfile/internal/sys"
)

// What a File with a FlushPolicy does differently. internal/flush counts, and keeps failures.

// FlushPolicy is that of mmapfile.
type FlushPolicy struct {
	Bytes    int64
	Interval time.Duration
}

// StartFlushes begins to flush f by p, unless f has nothing that can be made durable.
func StartFlushes(f *File, p FlushPolicy) error {
	const never = fs.ModeDir | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeCharDevice
	fi, err := f.inner.Stat()
	if err == nil && fi.Mode()&never == 0 {
		f.variant = flush.New(f, p.Bytes, p.Interval, (*File).syncData)
	}
	return err
}

// writeVariant is WriteAt of a File that is not plain.
func (f *File) writeVariant(b []byte, off int64) (n int, err error) {
	if f.private() {
		return f.writePrivate(b, off)
	}
	f.variant.Enter()
	if off < 0 || len(b) == 0 {
		n, err = f.writeInner(b, off)
	} else {
		n, err = f.writeBegun(f.writes.Begin(), b, off)
	}
	f.variant.Leave(f, len(b), n, err)
	return n, err
}

// syncFlushed is Sync. It reports the failure of an earlier flush, once.
func (f *File) syncFlushed() error {
	kept, err := f.variant.Sync(f.sync)
	if err == nil && kept != nil {
		err = f.fail("sync", cause(kept))
	}
	return err
}

// closeFlushed is Close. It flushes what is left between the last write and closing the inner file.
func (f *File) closeFlushed() error {
	defer f.variant.KeepOut()()
	err := f.flush() // of the mapping
	if werr := f.endMapped(); werr != nil {
		err = werr
	}
	if ferr := f.variant.End(f); ferr != nil {
		err = ferr
	}
	return f.closeDone(sys.Close(f.inner), err)
}

// viewFlushed is View. What fn may have changed is counted, also if it panics.
func (f *File) viewFlushed(off, n int64, fn func(p []byte) error) error {
	end := f.variant.Begin()
	defer func() {
		end(min(n, f.Len()))
		f.variant.Due(f)
	}()
	return f.view(off, n, fn)
}

// copyPiece is the number of bytes that a copy without a limit writes between two counts.
// Every piece is a multiple of copyStep, the buffer size of os.File.ReadFrom if the kernel
// does not copy. With another size, copying a file to itself would have another result
// than with os.File.
const (
	copyPiece = 1 << 20
	copyStep  = 32 << 10
)

// copyFlushed is f.inner.ReadFrom in pieces, and flushes after each if that is due.
func (f *File) copyFlushed(r io.Reader) (n int64, err error) {
	end := f.variant.Begin()
	defer func() { end(0) }()
	piece, left := int64(copyPiece), int64(math.MaxInt64)
	if limit := f.variant.Limit(); 0 < limit && limit < copyPiece {
		piece = (limit + copyStep - 1) / copyStep * copyStep
	}
	whole, _ := r.(*io.LimitedReader)
	if whole != nil {
		r, left = whole.R, whole.N
	}
	for left > 0 {
		asked := min(piece, left)
		part := io.LimitedReader{R: r, N: asked}
		k, err := f.copyPart(&part, whole)
		n += k
		left -= asked - part.N
		f.variant.Due(f)
		if err == nil && f.variant.Late() {
			err = f.fail("write", os.ErrClosed)
		}
		if err != nil || part.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// copyPart is f.inner.ReadFrom of part of whole, which may be nil. It counts what was read
// also if the Reader panics.
func (f *File) copyPart(part, whole *io.LimitedReader) (n int64, err error) {
	asked := part.N
	defer func() {
		read := asked - part.N
		if f.variant.Count(read); whole != nil {
			whole.N -= read
		}
	}()
	return f.inner.ReadFrom(part)
}

// flushFailed returns the failure of an earlier flush, for SyncRange. The system has marked the
// pages clean since then, so another flush would not report it (fsync(2)).
func (f *File) flushFailed() error {
	if f.variant != nil {
		if err := f.variant.Failure(); err != nil {
			return f.fail("sync", cause(err))
		}
	}
	return nil
}

// noteStores notes that callers may store into the memory that they get.
func (f *File) noteStores() {
	if v := f.flusher(); v != nil {
		v.NoteStores()
	}
	if m := f.m.Load(); m != nil && m.writable {
		m.stored.add(m, 0, int64(len(m.data)))
	}
}
