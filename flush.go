package mmapfile

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// FlushPolicy says when a File makes durable what was written to it, besides
// the calls of [File.Sync]. The zero value is never, as with [os.File]. What
// every method writes counts, and what [File.View] was given of a file that is open for
// writing; what is stored through Bytes, Chunks, At and SliceAt cannot be counted, and
// goes with the next flush.
//
// A flush is fdatasync(2) on Linux, and what Sync does elsewhere. If one fails,
// the next call of Sync or Close returns its error; the write that led to it
// has no error, since its bytes are in the file.
//
// A crash of the system loses what was not flushed, and nothing else; a killed
// process loses nothing under any policy. Close flushes what is left, and waits for that.
type FlushPolicy struct {
	// Bytes makes the write that is the first to leave so many bytes unflushed
	// flush the file before it returns. So when a write has returned, fewer than
	// Bytes are unflushed, of all the writes that have returned, from however
	// many goroutines: a crash loses no more of them than that.
	Bytes int64

	// Interval flushes in the background, so often as long as there is
	// something to flush. A crash loses what was written in the last interval,
	// and in the time that the flush takes. Once Bytes, Chunks, At or SliceAt
	// handed out memory that can be stored to, there always is something.
	Interval time.Duration
}

// flusher carries out the FlushPolicy of one File, to which it does not lead
// back, so that a File that is forgotten can be collected.
type flusher struct {
	limit   int64         // 0 means none
	pending atomic.Int64  // bytes written and not known to be durable
	lent    atomic.Bool   // there may be stores that nobody counts
	stop    chan struct{} // closed by Close

	mu      sync.Mutex          // one flush at a time; taken before the File's
	data    func(f *file) error // under mu: syncData, or what a test wants to happen
	stopped bool                // under mu
	err     error               // under mu: the first failure of a flush that nobody called for
}

func newFlusher(f *file, p FlushPolicy) *flusher {
	fl := &flusher{limit: p.Bytes, stop: make(chan struct{}), data: (*file).syncData}
	if p.Interval > 0 {
		go fl.tick(weak.Make(f), p.Interval)
	}
	return fl
}

// tick flushes at every interval, until Close, or until the File is gone.
func (fl *flusher) tick(w weak.Pointer[file], interval time.Duration) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-fl.stop:
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

func (fl *flusher) due() bool { return fl.pending.Load() > 0 || fl.lent.Load() }

// wrote notes that n bytes were written. Called with no lock held.
func (f *file) wrote(n int) {
	if f.flusher != nil && n > 0 {
		f.flusher.wrote(f, int64(n))
	}
}

func (fl *flusher) wrote(f *file, n int64) {
	if fl.pending.Add(n) < fl.limit || fl.limit == 0 {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.pending.Load() >= fl.limit { // else somebody else's flush had these, too
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

// end is the part of Close: the goroutine stops, and what is pending is flushed.
func (fl *flusher) end(f *file) error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.stopped {
		return nil
	}
	fl.stopped = true
	close(fl.stop)
	if fl.due() {
		fl.flush(f)
	}
	return fl.err
}

// Sync makes all that was written durable, through the mapping or not, and
// returns once it is, as [os.File.Sync] does, with its errors, or with that of a
// flush that a [FlushPolicy] made before. It may be called
// concurrently with everything, Close included. What [File.Bytes],
// [File.View] and the like were used to store is part of it. On a private File (see [Options]),
// of which nothing is ever in the file, it does nothing.
func (f *File) Sync() error {
	if f == nil {
		return os.ErrInvalid
	}
	if f.flusher != nil {
		return f.flusher.sync(f.file)
	}
	return f.sync()
}

func (f *file) sync() error {
	if f.private {
		return f.stillOpen("sync")
	}
	ferr := f.flush()
	f.moveTime()
	m := f.m.Load()
	if err := f.inner.Sync(); err != nil {
		return err
	}
	if m != nil && m.store != nil {
		m.store.cool()
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
	m := f.m.Load()
	if err := datasync(f.inner); err != nil {
		return err
	}
	if m != nil && m.store != nil {
		m.store.cool()
	}
	return ferr
}

// SyncRange makes the n bytes at off durable, and the file's length as far as
// it is needed to read them, and returns once they are. A crash of the system after
// that does not lose them; what was written elsewhere in the file it may lose, and the
// modification time. Bytes behind the end of the file need no syncing, and are no error.
//
// It may be called concurrently with everything, Close included. An error is a
// *[fs.PathError] with Op "sync": [fs.ErrInvalid] for a negative off or n,
// [os.ErrClosed], or the system's. On a private File (see [Options]) it does nothing.
//
// On Linux, where the File is open for reading and writing and mapped, this is msync(2) with
// MS_SYNC, which writes back the range's pages, however they were changed, and
// waits for the disk as fsync(2) does (mm/msync.c). Everywhere else the whole file is synced.
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
	if !syncsRanges || m == nil || !m.writable || end > int64(len(m.data)) || n == 0 {
		if err := f.syncData(); err != nil {
			return f.fail("sync", cause(err))
		}
		return nil
	}
	err := syncMapped(m.data[off&^int64(pageSize-1) : end])
	switch {
	case f.m.Load() == nil: // the range may not have been the file's any more
		return f.fail("sync", os.ErrClosed)
	case err != nil:
		return f.fail("sync", err)
	case m.store != nil:
		m.store.coolRange(int(off), int(n))
	}
	return nil
}
