// Package flush makes durable what was written to a file, without calls of Sync.
//
// Invariant: of the calls that have returned, fewer bytes than the limit are not durable, and the
// bytes that are older than the interval and one flush are durable. A flush that fails is
// reported once, by the next Sync or by End. Bytes that come too late for End are [Flusher.Late].
package flush

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/periodic"
)

// Flusher flushes a T. It has no reference to it, so that an unreachable T can be collected.
type Flusher[T any] struct {
	flush     func(*T) error
	limit     int64        // 0 means none
	pending   atomic.Int64 // bytes written and not known to be durable
	busy      atomic.Int64 // calls that may be writing, and are counted at their end
	uncounted atomic.Bool  // there may be stores that are not counted

	// gate is held for reading by a write until it is counted, and for writing by the close
	// of the file, until no write can succeed any more. It is taken before mu.
	gate sync.RWMutex

	mu    sync.Mutex  // one flush at a time
	ended atomic.Bool // set under mu, before the last flush begins
	err   error       // under mu: the first failure that was not reported yet

	stop func() // ends the goroutine of the interval
}

// New returns a Flusher that calls flush with f before limit bytes are pending, and at every
// interval. A limit or an interval of 0 is none.
func New[T any](f *T, limit int64, interval time.Duration, flush func(f *T) error) *Flusher[T] {
	fl := &Flusher[T]{flush: flush, limit: limit, stop: func() {}}
	if interval > 0 {
		fl.stop = periodic.Start(f, interval, fl.flushUnflushed)
	}
	return fl
}

// flushUnflushed flushes at an interval.
func (fl *Flusher[T]) flushUnflushed(f *T) {
	if !fl.unflushed() {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !fl.ended.Load() {
		fl.flushPending(f)
	}
}

func (fl *Flusher[T]) unflushed() bool {
	return fl.pending.Load() > 0 || fl.busy.Load() > 0 || fl.uncounted.Load()
}

// Limit returns the limit, or 0.
func (fl *Flusher[T]) Limit() int64 { return fl.limit }

// Late reports whether bytes were counted after the last flush, because the file was closed beside
// a call that Close does not wait for. It waits for the last flush, and for no other.
func (fl *Flusher[T]) Late() bool {
	if !fl.ended.Load() {
		return false // the last flush includes them
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.pending.Load() > 0
}

// Pending returns the number of bytes that are counted and not known to be durable. It is for tests.
func (fl *Flusher[T]) Pending() int64 { return fl.pending.Load() }

// Enter is the start of a call that writes, and for which the close of the file waits. Leave ends it.
func (fl *Flusher[T]) Enter() { fl.gate.RLock() }

// Leave counts what a call wrote that was to write at most most bytes and has returned n and err,
// and flushes if that is due. A call that fails may have written all but one of them: os.File does
// not report what WriteAt wrote before an error.
func (fl *Flusher[T]) Leave(f *T, most, n int, err error) {
	if err == nil {
		most = n
	}
	fl.Count(int64(most))
	fl.gate.RUnlock()
	fl.Due(f)
}

// Begin is the start of a call that may write, and for which the close of the file must not wait.
// The result ends the call, and takes the number of bytes it may have written.
func (fl *Flusher[T]) Begin() (end func(n int64)) {
	fl.busy.Add(1)
	return func(n int64) {
		fl.Count(n)
		fl.busy.Add(-1)
	}
}

// Count counts n bytes, which Due may flush.
func (fl *Flusher[T]) Count(n int64) { fl.pending.Add(n) }

// NoteStores notes that there may be stores into memory from now on, which cannot be counted.
func (fl *Flusher[T]) NoteStores() { fl.uncounted.Store(true) }

// Due flushes if the limit is reached. Called with no lock of the file held.
func (fl *Flusher[T]) Due(f *T) {
	if fl.limit == 0 || fl.pending.Load() < fl.limit {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.pending.Load() >= fl.limit && !fl.ended.Load() { // else the flush of another goroutine included these
		fl.flushPending(f)
	}
}

// flushPending makes durable what is pending now. Called with mu held.
func (fl *Flusher[T]) flushPending(f *T) {
	n := fl.pending.Load()
	err := fl.flush(f)
	if err != nil && fl.err == nil && !errors.Is(err, os.ErrClosed) {
		fl.err = err
	}
	// Subtract n even after a failure: the system then marks the pages clean, and another
	// flush would succeed and hide the error (fsync(2), EIO).
	fl.pending.Add(-n)
}

// Sync calls sync, which makes all durable. kept is the failure of an earlier flush, which no call
// has reported.
func (fl *Flusher[T]) Sync(sync func() error) (kept, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	n := fl.pending.Load()
	err = sync()
	fl.pending.Add(-n)
	if !fl.ended.Load() { // else End returns it
		kept, fl.err = fl.err, nil
	}
	return kept, err
}

// KeepOut waits until calls that have entered leave, and keeps out further ones until release.
func (fl *Flusher[T]) KeepOut() (release func()) {
	fl.gate.Lock()
	return fl.gate.Unlock
}

// End ends the flushes at an interval, and flushes what is left. It returns what Failure does.
func (fl *Flusher[T]) End(f *T) error {
	fl.stop()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	// Under mu: a write in Due leaves its bytes to the last flush only if it waits for that.
	if first := !fl.ended.Swap(true); first && fl.unflushed() {
		fl.flushPending(f)
	}
	return fl.err
}

// Failure returns the error of a flush that Sync or End reports, or that End has returned.
func (fl *Flusher[T]) Failure() error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.err
}
