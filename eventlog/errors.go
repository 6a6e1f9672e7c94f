package eventlog

import (
	"errors"
	"fmt"

	"go.dw1.io/mmapfile/internal/eventfile"
)

var (
	// ErrLocked is the error of [Open], [OpenStream] and [Repair] if the log is already
	// open for writing, in this process or another.
	ErrLocked = errors.New("log is open for writing elsewhere")

	// ErrFull is the error of an append that would make the log longer than
	// [Options].MaxSize, or the stream larger than that of its [StreamOptions].
	ErrFull = errors.New("log has its full size")

	// ErrTruncated is the error of a Stream and a StreamReader for an event that
	// TruncateFront, TruncateBack or retention has removed. It is also the error of a loop
	// that has seen events which a flush failed to write, and which the next writer did not
	// find.
	ErrTruncated = errors.New("event was removed from the stream")

	errBegun    = errors.New("a truncation was begun, and has not ended")
	errTooMuch  = errors.New("too much data to save before truncating")
	errStale    = errors.New("is there: a copy was killed, or another one runs")
	errReplaced = errors.New("directory was replaced by another one while the stream was open")
)

// CorruptError reports that a log is damaged. Open returns it, and leaves the file as it is,
// if the header is damaged, if the log was closed and there are, or may be, valid events after
// the damage, or if its length is not one that a crash can leave. Iterators return it at the damage.
// It is inside a *[io/fs.PathError]: use [errors.As]. In a stream, Err names the event.
type CorruptError struct {
	Offset int64 // where the first event that is not whole begins; 0 if the header is damaged
	Err    error // what is wrong; io.ErrUnexpectedEOF if the file was truncated
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged at offset %d: %v", e.Offset, e.Err)
}

// damagedEvent is the error of event number seq of a stream, at off in its segment.
func damagedEvent(seq, off int64, err error) error {
	return &CorruptError{off, fmt.Errorf("event %d: %w", seq, err)}
}

// Unwrap returns e.Err.
func (e *CorruptError) Unwrap() error { return e.Err }

// metaError returns an error of the file meta, in a CorruptError if it says that meta is damaged.
func metaError(err error) error {
	if err == eventfile.ErrBounds || err == eventfile.ErrFlags || err == eventfile.ErrMeta {
		return &CorruptError{0, err}
	}
	return err
}
