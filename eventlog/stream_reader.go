package eventlog

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// StreamReader is a stream that is open for reading. There may be any number of them, in
// any process, while the stream is written, and while it is not. All methods may be called
// from any number of goroutines, Close included.
//
// If another directory takes the place of the stream's, as when a backup is restored, or another
// file that of meta, that is an error of loops and of reads that need another file.
type StreamReader struct {
	readerCatalog
}

// OpenStreamReader opens the stream in dir for reading. It may be called concurrently. An
// error is a *[fs.PathError] with Op "open", or the system's.
func OpenStreamReader(dir string) (*StreamReader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return nil, openError(dir, errors.Unwrap(err))
	}
	if !fi.IsDir() {
		return nil, openError(dir, syscall.ENOTDIR)
	}
	r := new(StreamReader)
	r.init(dir)
	r.home = fi
	if _, err := r.refresh(); err != nil {
		r.Close()
		return nil, r.fail("open", err)
	}
	return r, nil
}

// Close closes the stream. It ends the Data of an event in the body of a loop. It does not
// wait for the bodies of loops: the next step of an iterator is [os.ErrClosed]. So is the
// error of a second Close, in a *[fs.PathError].
func (r *StreamReader) Close() error {
	if r.closed.Swap(true) {
		return r.fail("close", os.ErrClosed)
	}
	r.shutAll()
	err := error(nil)
	r.mu.Lock()
	if r.meta != nil {
		err = r.meta.Close()
	}
	r.mu.Unlock()
	return err
}

// First returns the number of the first event, or that of the next if there is none. An error is a
// *[fs.PathError]: [os.ErrClosed] after Close, or the system's.
func (r *StreamReader) First() (int64, error) {
	b, err := r.refresh()
	return r.firstOf(b), err
}

// Next returns the number that the next event will have. If the last segment is damaged, that
// is unknown: then Next returns a *[CorruptError], and the number of the damaged event.
func (r *StreamReader) Next() (int64, error) {
	next, err := r.tail()
	if err != nil {
		err = r.fail("read", err)
	}
	return next, err
}

// Get is [Stream.Get].
func (r *StreamReader) Get(seq int64) (Event, error) { return getEvent(r, seq) }

// Events is [Stream.Events].
func (r *StreamReader) Events(from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamEvents(r, everything, startAt(from), o...)
}

// Since is [Stream.Since].
func (r *StreamReader) Since(t time.Time) iter.Seq2[Event, error] {
	return streamSince(r, t)
}

// Follow is [StreamReader.Events], but does not end: after the last event it waits for
// more, and has them within some 20 ms. When ctx is done, its error is the last that
// Follow yields. The stream may be closed and opened again by its writer meanwhile.
//
// If retention or TruncateFront overtakes the loop, or TruncateBack removes an event
// that the loop has seen, the error is [ErrTruncated]. If there were two calls of
// TruncateBack since it last read, that is the error, too. [StreamReader.First] tells
// where to begin again.
//
// A consumer that is to survive a kill stores e.Seq+1, its place, after the effects of the
// event e. If both are not one atomic change, some effects come again: they must be such that this
// does no harm, or the place must tell them apart, as in the example of [OnlyDurable]. Without
// OnlyDurable a crash of the system may take back events that it has seen, and give their numbers
// to others.
func (r *StreamReader) Follow(ctx context.Context, from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamFollow(ctx, r, from, o)
}
