package eventlog

import (
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Reader is a log that is open for reading. Any number of Readers may be open, in any process,
// while the log is written. Methods may be called from any number of goroutines, including
// Close.
type Reader struct {
	logFile
}

// OpenReader opens the named log for reading. It may be called concurrently, and takes no
// lock: a writer may open and close the log meanwhile. It verifies nothing: an iterator that
// reaches damage reports it. An empty file is a log without events, since its writer may be
// creating it.
//
// An error is a *[fs.PathError] with Op "open": OpenReader fails with [errors.ErrUnsupported]
// for what is not a regular file, or with the system's error.
func OpenReader(name string) (*Reader, error) {
	f, err := eventfile.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &Reader{logFile{f: f}}, nil
}

// Close closes the log. Event.Data must not be used any more. Close does not wait for the
// bodies of loops: the next step of an iterator, and a second Close, fail with [os.ErrClosed].
func (r *Reader) Close() error { return r.close() }

// End returns the offset after the last event, which the next event will have. It verifies no
// event, and makes no system call if the file is mapped.
//
// An error is a *[fs.PathError] with Op "read": a *[CorruptError] for a file that is not a
// log, [os.ErrClosed], or the system's error.
func (r *Reader) End() (end int64, err error) {
	src := eventfile.Source{File: r.f}
	err = r.whileOpen("read", func() (err error) {
		end, err = src.End()
		return err
	})
	if err == eventfile.ErrHeader {
		err = &CorruptError{0, err}
	}
	if err != nil {
		return 0, r.fail("read", err)
	}
	return end, nil
}

// Events is like [Log.Events]. If a writer takes back events meanwhile, it fails as
// [Reader.Follow] does.
func (r *Reader) Events(from int64) iter.Seq2[Event, error] { return r.events(from, everything) }

// Since is like [Log.Since].
func (r *Reader) Since(t time.Time) iter.Seq2[Event, error] { return r.events(0, since(t)) }

// Follow sleeps between two looks at an idle log, twice as long each time.
const (
	minWait = 100 * time.Microsecond
	maxWait = 20 * time.Millisecond
)

// Follow is like [Reader.Events], but does not end: after the last event it waits for more,
// and yields them within some 20 ms. To wait, it reads a word of the file's memory, less and
// less often, without a system call. When ctx is done, Follow yields its error, and no event
// any more. The log may grow meanwhile, and its writer may close and open it.
//
// To resume, start from [Event.Next] of the last event. To begin with events to come, start
// from [Reader.End]. An offset after the log's end fails with [fs.ErrInvalid]. If the log has
// become shorter, as after a [Repair], Follow yields a *[CorruptError] at the new end. If a
// writer has taken back events since the loop began, as after a failed flush, it yields a
// *CorruptError whose Err is [ErrTruncated].
func (r *Reader) Follow(ctx context.Context, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c := r.newCursor(from, everything)
		c.done = ctx.Done()
		follow(ctx, r, func() (found, more bool) {
			if err := ctx.Err(); err != nil {
				yield(Event{Offset: c.off}, err)
				return false, false
			}
			more = c.hand(c.step(true), yield)
			return c.n > 0, more
		})
	}
}

// follow calls step until that says that there is no more. After one that has found nothing it waits. owner keeps its
// memory meanwhile.
func follow(ctx context.Context, owner any, step func() (found, more bool)) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer runtime.KeepAlive(owner)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := minWait; ; {
		switch found, more := step(); {
		case !more:
			return
		case found:
			wait = minWait
		default:
			logdisk.Pause(ctx.Done(), timer, wait)
			wait = min(2*wait, maxWait)
		}
	}
}
