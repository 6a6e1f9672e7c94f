package eventlog

import (
	"context"
	"iter"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile"
)

// Reader is a log that is open for reading. There may be any number of them, in
// any process, while the log is written. All methods may be called from any number
// of goroutines, Close included.
type Reader struct {
	space
}

// OpenReader opens the named log for reading. It may be called concurrently, and
// takes no lock: a writer may come and go. It looks at nothing yet, so that damage
// shows when an iterator comes to it. A file that is empty, since its writer is
// only just making it a log, is a log without events.
//
// An error is a *[fs.PathError] with Op "open": [errors.ErrUnsupported] for what
// is not a regular file, or the system's.
func OpenReader(name string) (*Reader, error) {
	if err := regular(name); err != nil {
		return nil, err
	}
	f, err := mmapfile.Open(name)
	if err != nil {
		return nil, err
	}
	return &Reader{space{f: f}}, nil
}

// Close closes the log, and ends what [Event.Data] is. It does not wait for the
// bodies of loops: the next step of an iterator is [os.ErrClosed]. So is the
// error of a second Close, in a *[fs.PathError].
func (r *Reader) Close() error { return r.close() }

// Events is [Log.Events].
func (r *Reader) Events(from int64) iter.Seq2[Event, error] { return r.events(from, everything) }

// Since is [Log.Since].
func (r *Reader) Since(t time.Time) iter.Seq2[Event, error] { return r.events(0, since(t)) }

// How long Follow sleeps between two looks: twice as long each time, until
// there is something.
const (
	leastWait = 100 * time.Microsecond
	mostWait  = 20 * time.Millisecond
)

// Follow is [Reader.Events], but does not end: behind the last event it waits for
// more, and has them within some 20 ms. It looks at a word of the file's
// memory, ever more seldom, and asks the system for nothing. When ctx is done its
// error is the last that Follow yields. The file may grow, and be closed and opened again by
// its writer, meanwhile.
//
// To go on where it ended, start from the offset behind the last event, which
// is 16 + len(Data) behind its own, or from its own to have it once more. An offset
// behind the log's end is [fs.ErrInvalid]; a log that has become shorter than it
// was, as after a [Repair], is a *[CorruptError] at its new end.
func (r *Reader) Follow(ctx context.Context, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer runtime.KeepAlive(r)
		c := r.newCursor(from, everything)
		wait := leastWait
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
				wait = leastWait
				continue
			}
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			wait = min(2*wait, mostWait)
		}
	}
}
