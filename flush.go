package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/periodic"
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
	limit     int64        // 0 means none
	pending   atomic.Int64 // bytes written and not known to be durable
	busy      atomic.Int64 // calls that may be writing, and are counted at their end
	uncounted atomic.Bool  // there may be stores that are not counted

	// gate is held for reading by a write until it is counted. Close holds it for writing
	// until no write can succeed any more.
	gate sync.RWMutex

	mu      sync.Mutex // one flush at a time
	stopped bool       // under mu
	err     error      // under mu: the first failure of a flush in the background

	stop func() // ends the goroutine of the interval
}

// flushData flushes f. It is a variable for tests, which count flushes and let them fail.
var flushData = (*file).syncData

func newFlusher(f *file, p FlushPolicy) *flusher {
	fl := &flusher{limit: p.Bytes, stop: func() {}}
	if p.Interval > 0 {
		fl.stop = periodic.Start(f, p.Interval, fl.flushUnflushed)
	}
	return fl
}

// flushUnflushed flushes at an interval.
func (fl *flusher) flushUnflushed(f *file) {
	if !fl.unflushed() {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !fl.stopped {
		fl.flush(f)
	}
}

func (fl *flusher) unflushed() bool {
	return fl.pending.Load() > 0 || fl.busy.Load() > 0 || fl.uncounted.Load()
}

// write makes a call that writes at most most bytes, counts what it wrote, and flushes if
// that is due. A call that fails may have written all but one of them: os.File does not report
// what WriteAt wrote before an error.
func (fl *flusher) write(f *file, most int, call func() (int, error)) (n int, err error) {
	fl.gate.RLock()
	n, err = call()
	if err == nil {
		most = n
	}
	fl.pending.Add(int64(most))
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
		asked := min(piece, left)
		part := io.LimitedReader{R: r, N: asked}
		k, err := fl.copyPart(f, &part, whole)
		n += k
		left -= asked - part.N
		fl.flushDue(f)
		if err != nil || part.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// copyPart is f.inner.ReadFrom of part of whole, which may be nil. It counts what was read
// also if the Reader panics.
func (fl *flusher) copyPart(f *file, part, whole *io.LimitedReader) (n int64, err error) {
	asked := part.N
	defer func() {
		read := asked - part.N
		if fl.pending.Add(read); whole != nil {
			whole.N -= read
		}
	}()
	return f.inner.ReadFrom(part)
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
	err := flushData(f)
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

// close is Close for a File with a flusher. It flushes what is left between the last write and
// closing the inner file.
func (fl *flusher) close(f *file) error {
	fl.gate.Lock()
	defer fl.gate.Unlock()
	err := f.flush() // of the mapping
	if werr := f.endMapped(); werr != nil {
		err = werr
	}
	if ferr := fl.end(f); ferr != nil {
		err = ferr
	}
	return f.closeDone(sys.Close(f.inner), err)
}

// end stops the goroutine, and flushes what is left.
func (fl *flusher) end(f *file) error {
	fl.stop()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !fl.stopped && fl.unflushed() {
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

// noteStores tells the flusher that callers may store into the memory, which it cannot count.
func (f *file) noteStores() {
	if f.flusher != nil {
		f.flusher.uncounted.Store(true)
	}
}

// startFlushes begins to flush f by p, unless f has nothing that can be made durable.
func (f *file) startFlushes(p FlushPolicy) error {
	const never = fs.ModeDir | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeCharDevice
	fi, err := f.inner.Stat()
	if err == nil && fi.Mode()&never == 0 {
		f.flusher = newFlusher(f, p)
	}
	return err
}
