package eventlog

import (
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Reader is a log that is open for reading. Any number of them may be open, in any process,
// while the log is written. Its methods may be called from any number of goroutines, Close
// included.
type Reader struct {
	logFile
}

// OpenReader opens the named log for reading. It may be called concurrently, and takes no
// lock: a writer may open and close the log meanwhile. It verifies nothing: an iterator that
// reaches damage reports it. An empty file is a log without events, since its writer may be
// creating it.
//
// An error is a *[fs.PathError] with Op "open": [errors.ErrUnsupported] for what is not a
// regular file, or the system's.
func OpenReader(name string) (*Reader, error) {
	f, err := eventfile.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &Reader{logFile{f: f}}, nil
}

// Close closes the log. [Event.Data] must not be used any more. Close does not wait for the
// bodies of loops: the next step of an iterator is [os.ErrClosed]. So is the error of a
// second Close, in a *[fs.PathError].
func (r *Reader) Close() error { return r.close() }

// End returns the offset after the last event, which is that of the next. It verifies no event,
// and makes no system call if the file is mapped.
//
// An error is a *[fs.PathError] with Op "read": a *[CorruptError] for a file that is not a log,
// [os.ErrClosed], or the system's.
func (r *Reader) End() (end int64, err error) {
	src := eventfile.Source{File: r.f}
	err = r.whileOpen("read", func() (err error) {
		end, err = src.End()
		return err
	})
	switch {
	case err != nil:
		return 0, r.fail("read", err)
	case end == 0:
		return eventfile.HeaderSize, nil // it has no header yet
	case end < eventfile.HeaderSize:
		return 0, r.fail("read", &CorruptError{0, eventfile.ErrHeader})
	}
	return end, nil
}

// Events is [Log.Events].
func (r *Reader) Events(from int64) iter.Seq2[Event, error] { return r.events(from, everything) }

// Since is [Log.Since].
func (r *Reader) Since(t time.Time) iter.Seq2[Event, error] { return r.events(0, since(t)) }

// Follow sleeps between two looks at an idle log, twice as long each time.
const (
	minWait = 100 * time.Microsecond
	maxWait = 20 * time.Millisecond
)

// Follow is [Reader.Events], but does not end: after the last event it waits for more, and
// yields them within some 20 ms. It reads a word of the file's memory, less and less often,
// and makes no system call for that. When ctx is done, Follow yields its error, and no event
// any more. The log may grow meanwhile, and its writer may close and open it.
//
// To resume, start from [Event.Next] of the last event. To begin with events to come, start
// from [Reader.End]. An offset after the log's end is [fs.ErrInvalid]. A log that has become
// shorter, as after a [Repair], is a *[CorruptError] at its new end.
func (r *Reader) Follow(ctx context.Context, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer runtime.KeepAlive(r)
		c := r.newCursor(from, everything)
		c.done = ctx.Done()
		wait := minWait
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			if err := ctx.Err(); err != nil {
				yield(Event{Offset: c.off}, err)
				return
			}
			if !c.hand(c.step(true), yield) {
				return
			}
			if c.n > 0 {
				wait = minWait
				continue
			}
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			wait = min(2*wait, maxWait)
		}
	}
}
