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

// FlushPolicy says when a File makes durable what was written to it, besides
// the calls of [File.Sync]. The zero value is never, as with [os.File]. What
// every method writes counts, and what [File.View] was given of a file that is
// open for writing; what is stored through Bytes, Chunks, At and SliceAt cannot
// be counted, and goes with the next flush.
//
// A flush is fdatasync(2) on Linux, and what Sync does elsewhere. If one fails,
// the next call of Sync or Close returns its error; the write that led to it
// has no error, since its bytes are in the file.
//
// A crash of the system loses what was not flushed, and nothing else; a killed
// process loses nothing under any policy. Close flushes what is left, and waits
// for that and for the writes that have begun; a File that is forgotten instead
// flushes no more.
type FlushPolicy struct {
	// Bytes makes the write that is the first to leave so many bytes unflushed
	// flush the file before it returns. So when a write has returned, fewer than
	// Bytes are unflushed, of all the writes that have returned, from however
	// many goroutines: a crash loses no more of them than that. ReadFrom and
	// WriteTo flush on their way.
	Bytes int64

	// Interval flushes in the background, so often as long as there is something
	// to flush. A crash loses what was written in the last interval, and in the
	// time that the flush takes. Once Bytes, Chunks, At or SliceAt handed out
	// memory that can be stored to, there always is something.
	Interval time.Duration
}

// flusher carries out the FlushPolicy of one File, to which it does not lead
// back, so that a File that is forgotten can be collected.
type flusher struct {
	limit   int64        // 0 means none
	pending atomic.Int64 // bytes written and not known to be durable
	busy    atomic.Int64 // calls that may be writing, and count at their end
	exposed atomic.Bool  // there may be stores that are not counted

	// gate is held for reading by a write until it is counted, and by Close for
	// writing until no write can succeed any more.
	gate sync.RWMutex

	mu      sync.Mutex          // one flush at a time
	data    func(f *file) error // under mu: syncData, or what a test wants to happen
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

// write makes a call that writes, counts what it wrote, and flushes where that is due.
func (fl *flusher) write(f *file, call func() (int, error)) (n int, err error) {
	fl.gate.RLock()
	n, err = call()
	fl.pending.Add(int64(n))
	fl.gate.RUnlock()
	fl.flushDue(f)
	return n, err
}

// begin is the beginning of a call that may write, and is not to be waited for.
// The result is its end, with what it may have written.
func (fl *flusher) begin() (end func(n int64)) {
	fl.busy.Add(1)
	return func(n int64) {
		fl.pending.Add(n)
		fl.busy.Add(-1)
	}
}

// copyPiece is what a copy writes between two counts where there is no limit.
// Like every piece it is a multiple of copyStep, which os.File.ReadFrom reads and
// writes at a time where the kernel does not copy: steps of another length copy a
// file to itself with another result.
const (
	copyPiece = 1 << 20
	copyStep  = 32 << 10
)

// copyFrom is f.inner.ReadFrom in pieces, each of which is flushed if need be.
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
	if fl.pending.Load() >= fl.limit { // else the flush of another goroutine had these, too
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
	// Even after a failure: the system takes the pages for clean then, and
	// trying again would only hide it (fsync(2), EIO).
	fl.pending.Add(-n)
}

// sync is Sync where there is a flusher.
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

// end is the part of Close once nothing can be written any more, and before the
// inner file is closed: the goroutine stops, and what is left is flushed.
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

// failure is the error of a flush that Sync or Close will tell.
func (fl *flusher) failure() error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.err
}

// Sync makes all that was written durable, through the mapping or not, and returns
// once it is, as [os.File.Sync] does, with its errors, or with that of a flush that a
// [FlushPolicy] made before. What [File.Bytes], [File.View] and the like were used to
// store is part of it. On a private File (see [Options]), of which nothing is ever in
// the file, it does nothing.
func (f *File) Sync() error {
	if f == nil {
		return os.ErrInvalid
	}
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

// syncData is sync for the bytes and what is needed to read them, without the
// file's times.
func (f *file) syncData() error {
	ferr := f.flush()
	if err := f.syncWhole(func() error { return sys.Datasync(f.inner) }); err != nil {
		return err
	}
	return ferr
}

// syncWhole calls sync, after which no page is prefaulted.
func (f *file) syncWhole(sync func() error) error {
	f.pages.synced(0, math.MaxInt64) // before, since pages are protected early in a long one
	err := sync()
	f.pages.synced(0, math.MaxInt64)
	f.pages.judge(f.m.Load())
	return err
}

// SyncRange makes the n bytes at off durable, and the file's length as far as
// it is needed to read them, and returns once they are. A crash of the system
// after that does not lose them; what was written elsewhere in the file it may
// lose, and the modification time. Bytes past the end of the file need no
// syncing, and are no error.
//
// An error is a *[fs.PathError] with Op "sync": [fs.ErrInvalid] for a negative off or
// n, [os.ErrClosed], or the system's. On a private File (see [Options]) it does
// nothing.
//
// On Linux, where the File is open for reading and writing and mapped, this is
// msync(2) with MS_SYNC, which writes back the range's pages, however they were
// changed, and waits for the disk as fsync(2) does (mm/msync.c). Everywhere
// else the whole file is synced.
func (f *File) SyncRange(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("sync", fs.ErrInvalid)
	}
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
	f.pages.synced(off, end)
	switch {
	case f.m.Load() == nil: // the range may not have been the file's any more
		return f.fail("sync", os.ErrClosed)
	case err != nil:
		return f.fail("sync", err)
	}
	return f.flushFailed()
}

// flushFailed is the failure of a flush that came before: the system has taken
// the pages for clean since then, so that no other flush would tell (fsync(2)).
func (f *file) flushFailed() error {
	if f.flusher != nil {
		if err := f.flusher.failure(); err != nil {
			return f.fail("sync", cause(err))
		}
	}
	return nil
}
