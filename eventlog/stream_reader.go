package eventlog

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// StreamReader is a stream that is open for reading. Any number of StreamReaders may be open,
// in any process, whether or not the stream is being written. Methods may be called from any
// number of goroutines, including Close.
//
// If another directory takes the place of the stream's, as when a backup is restored, or
// another meta file that of the stream, loops and reads that need another file return an
// error.
type StreamReader struct {
	readerCatalog
}

// OpenStreamReader opens the stream in dir for reading. It may be called concurrently. An
// error is a *[fs.PathError] with Op "open", or the system's error.
func OpenStreamReader(dir string) (*StreamReader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	fi, err := logdisk.Stat(dir)
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

// Close closes the stream. Data of an event must not be used any more. Close does not wait for
// the bodies of loops: the next step of an iterator, and a second Close, fail with
// [os.ErrClosed].
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

// First returns the number of the first event, or that of the next if there is none. An error
// is a *[fs.PathError]: [os.ErrClosed] after Close, or the system's error.
func (r *StreamReader) First() (int64, error) {
	b, err := r.refresh()
	return r.firstOf(b), err
}

// Next returns the number that the next event will have. If the last segment is damaged, that
// is unknown: then Next returns the number of the damaged event, and a *[CorruptError].
func (r *StreamReader) Next() (int64, error) {
	next, err := r.tail()
	if err != nil {
		err = r.fail("read", err)
	}
	return next, err
}

// Get is like [Stream.Get].
func (r *StreamReader) Get(seq int64) (Event, error) { return getEvent(r, seq) }

// Events is like [Stream.Events].
func (r *StreamReader) Events(from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamEvents(r, from, everything, o...)
}

// Since is like [Stream.Since].
func (r *StreamReader) Since(t time.Time) iter.Seq2[Event, error] {
	return streamEvents(r, 0, since(t))
}

// Follow is like [StreamReader.Events], but does not end: after the last event it waits for
// more, and yields them within some 20 ms. When ctx is done, Follow yields its error last. The
// writer may close and open the stream meanwhile.
//
// Follow fails with [ErrTruncated] if retention or TruncateFront overtakes the loop, if
// TruncateBack removes an event that the loop has seen, or is called twice since the loop last
// read, and if a recovery after a failed flush has taken back events that the loop has seen.
// [StreamReader.First] tells where to begin again.
//
// A consumer that must survive a kill stores e.Seq+1, its position, after the effects of the
// event e. Unless both are one atomic change, some effects are repeated: repeating them must
// be harmless, or the position must tell them apart, as in the example of [OnlyDurable].
// Without OnlyDurable, a crash of the system may take back events that the consumer has seen,
// and give their numbers to others.
func (r *StreamReader) Follow(ctx context.Context, from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamFollow(ctx, r, from, o)
}
