package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"go.dw1.io/mmapfile/internal/sys"
)

// FlushPolicy says when a File makes written bytes durable without a call of [File.Sync].
// The zero value means never, as with [os.File]. A policy counts the writes of every
// method, and the bytes given to [File.View] of a file open for writing. Stores through
// Bytes, Chunks, At and SliceAt cannot be counted, and are part of the next flush.
//
// If a flush fails, the next call of Sync or Close returns its error. Close flushes what is
// left, and waits for that and for the writes that have begun.
type FlushPolicy struct {
	// Bytes limits the bytes that are unflushed: of the writes that have returned, fewer
	// than this many. The write that reaches the limit flushes the file before it returns.
	Bytes int64

	// Interval is the time between two flushes in the background. A crash of the system
	// loses what was written in the last interval, and during the flush.
	Interval time.Duration
}

// flusher carries out the FlushPolicy of one File. It has no reference to the File, so that
// an unreachable File can be collected.
type flusher struct {
	limit   int64        // 0 means none
	pending atomic.Int64 // bytes written and not known to be durable
	busy    atomic.Int64 // calls that may be writing, and are counted at their end
	exposed atomic.Bool  // there may be stores that are not counted

	// gate is held for reading by a write until it is counted. Close holds it for writing
	// until no write can succeed any more.
	gate sync.RWMutex

	mu      sync.Mutex          // one flush at a time
	data    func(f *file) error // under mu: syncData, or a test's own
	stopped bool                // under mu
	err     error               // under mu: the first failure of a flush in the background

	stop func() // ends the goroutine of the interval
}

func newFlusher(f *file, p FlushPolicy) *flusher {
	fl := &flusher{limit: p.Bytes, data: (*file).syncData, stop: func() {}}
	if p.Interval > 0 {
		ended := make(chan struct{})
		fl.stop = sync.OnceFunc(func() { close(ended) })
		runtime.AddCleanup(f, func(stop func()) { stop() }, fl.stop)
		go fl.tick(weak.Make(f), p.Interval, ended)
	}
	return fl
}

// tick flushes at every interval, until Close, or until the File is gone.
func (fl *flusher) tick(w weak.Pointer[file], interval time.Duration, ended <-chan struct{}) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		f := w.Value()
		if f == nil {
			return
		}
		if fl.due() {
			fl.mu.Lock()
			if !fl.stopped {
				fl.flush(f)
			}
			fl.mu.Unlock()
		}
	}
}

func (fl *flusher) due() bool {
	return fl.pending.Load() > 0 || fl.busy.Load() > 0 || fl.exposed.Load()
}

// write makes a call that writes, counts what it wrote, and flushes if that is due.
func (fl *flusher) write(f *file, call func() (int, error)) (n int, err error) {
	fl.gate.RLock()
	n, err = call()
	fl.pending.Add(int64(n))
	fl.gate.RUnlock()
	fl.flushDue(f)
	return n, err
}

// begin is the start of a call that may write, and for which Close must not wait. The
// result ends the call, and takes the number of bytes it may have written.
func (fl *flusher) begin() (end func(n int64)) {
	fl.busy.Add(1)
	return func(n int64) {
		fl.pending.Add(n)
		fl.busy.Add(-1)
	}
}

// copyPiece is the number of bytes that a copy without a limit writes between two counts.
// Every piece is a multiple of copyStep, the buffer size of os.File.ReadFrom if the kernel
// does not copy. With another size, copying a file to itself would have another result
// than with os.File.
const (
	copyPiece = 1 << 20
	copyStep  = 32 << 10
)

// copyFrom is f.inner.ReadFrom in pieces, and flushes after each if that is due.
func (fl *flusher) copyFrom(f *file, r io.Reader) (n int64, err error) {
	end := fl.begin()
	defer func() { end(0) }()
	piece, left := int64(copyPiece), int64(math.MaxInt64)
	if fl.limit > 0 && fl.limit < copyPiece {
		piece = (fl.limit + copyStep - 1) / copyStep * copyStep
	}
	whole, _ := r.(*io.LimitedReader)
	if whole != nil {
		r, left = whole.R, whole.N
	}
	for left > 0 {
		part := io.LimitedReader{R: r, N: min(piece, left)}
		k, err := f.inner.ReadFrom(&part)
		n += k
		if left -= k; whole != nil {
			whole.N = left
		}
		fl.pending.Add(k)
		fl.flushDue(f)
		if err != nil || part.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// flushDue flushes if the limit is reached. Called with no lock held.
func (fl *flusher) flushDue(f *file) {
	if fl.limit == 0 || fl.pending.Load() < fl.limit {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.pending.Load() >= fl.limit { // else the flush of another goroutine included these
		fl.flush(f)
	}
}

// flush makes durable what is pending now. Called with mu held.
func (fl *flusher) flush(f *file) {
	n := fl.pending.Load()
	err := fl.data(f)
	if err != nil && fl.err == nil && !errors.Is(err, os.ErrClosed) {
		fl.err = err
	}
	// Subtract n even after a failure: the system then marks the pages clean, and another
	// flush would succeed and hide the error (fsync(2), EIO).
	fl.pending.Add(-n)
}

// sync is Sync for a File with a flusher.
func (fl *flusher) sync(f *file) error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	n := fl.pending.Load()
	err := f.sync()
	fl.pending.Add(-n)
	kept := fl.err
	if fl.err = nil; err == nil && kept != nil {
		err = f.fail("sync", cause(kept))
	}
	return err
}

// end is the part of Close between the last write and closing the inner file. The goroutine
// stops, and what is left is flushed.
func (fl *flusher) end(f *file) error {
	fl.stop()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !fl.stopped && fl.due() {
		fl.flush(f)
	}
	fl.stopped = true
	return fl.err
}

// failure returns the error of a flush that Sync or Close must report.
func (fl *flusher) failure() error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.err
}

// Sync makes all written bytes durable before it returns, as [os.File.Sync] does, whether
// they were written through the mapping or not. Stores through [File.Bytes], [File.View]
// and the like are included. Its errors are those of os.File.Sync, or that of an earlier
// flush by a [FlushPolicy]. On a private File (see [Options]) it does nothing, because
// nothing of it is ever in the file.
func (f *File) Sync() error {
	if f == nil {
		return os.ErrInvalid
	}
	f.lost()
	if f.private {
		return f.stillOpen("sync")
	}
	if f.flusher != nil {
		return f.flusher.sync(f.file)
	}
	return f.sync()
}

func (f *file) sync() error {
	ferr := f.flush()
	f.endPeriod()
	if err := f.syncWhole(f.inner.Sync); err != nil {
		return err
	}
	if ferr != nil {
		return f.fail("sync", cause(ferr))
	}
	return nil
}

// syncData is sync for the bytes and the metadata needed to read them, without the file's
// times.
func (f *file) syncData() error {
	ferr := f.flush()
	if err := f.syncWhole(func() error { return sys.Datasync(f.inner) }); err != nil {
		return err
	}
	return ferr
}

// syncWhole calls sync, after which no page is prefaulted.
func (f *file) syncWhole(sync func() error) error {
	f.pages.Synced(0, math.MaxInt64) // before, because a long one protects pages early
	err := sync()
	f.pages.Synced(0, math.MaxInt64)
	if m := f.m.Load(); m != nil && m.locks != nil {
		f.pages.Judge(m.locks.takeWrites)
	}
	return err
}

// SyncRange makes the n bytes at off durable, and the file's length if it is needed to read
// them. A crash of the system after that can lose what was written elsewhere in the file,
// and the modification time. Bytes past the end of the file are no error.
//
// An error is a *[fs.PathError] with Op "sync": [fs.ErrInvalid] for a negative off or n,
// [os.ErrClosed], or the system's. On a private File (see [Options]) SyncRange does
// nothing.
//
// On Linux it calls msync(2) with MS_SYNC if the File is mapped, and open for reading and
// writing. That writes back the range's pages, however they were changed, and waits for the
// disk as fsync(2) does (mm/msync.c). Otherwise the whole file is synced.
func (f *File) SyncRange(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("sync", fs.ErrInvalid)
	}
	f.lost()
	if f.private {
		return f.stillOpen("sync")
	}
	end := int64(math.MaxInt64)
	if n <= end-off {
		end = off + n
	}
	m := f.m.Load()
	if !sys.SyncsRanges || m == nil || !m.writable || end > int64(len(m.data)) || n == 0 {
		if err := f.syncData(); err != nil {
			return f.fail("sync", cause(err))
		}
		return f.flushFailed()
	}
	err := sys.SyncMemory(m.data[off&^int64(pageSize-1) : end])
	f.pages.Synced(off, end)
	switch {
	case f.m.Load() == nil: // the range may not have been the file's any more
		return f.fail("sync", os.ErrClosed)
	case err != nil:
		return f.fail("sync", err)
	}
	return f.flushFailed()
}

// flushFailed returns the failure of an earlier flush. The system has marked the pages
// clean since then, so another flush would not report it (fsync(2)).
func (f *file) flushFailed() error {
	if f.flusher != nil {
		if err := f.flusher.failure(); err != nil {
			return f.fail("sync", cause(err))
		}
	}
	return nil
}
