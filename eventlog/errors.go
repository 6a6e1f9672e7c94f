package eventlog

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked is the error of [Open] and [Repair] where somebody else, perhaps
	// in another process, has the log open for writing.
	ErrLocked = errors.New("log is open for writing elsewhere")

	// ErrFull is the error of an append that would make the log longer than
	// [Options].MaxSize.
	ErrFull = errors.New("log has its full size")

	// ErrTruncated is the error of a Stream and a StreamReader for an event that
	// TruncateFront, TruncateBack or retention has removed.
	ErrTruncated = errors.New("event was removed from the stream")

	errChecksum = errors.New("checksum does not match")
	errCut      = errors.New("event goes past the end of the log")
	errHeader   = errors.New("not the header of a log")
	errGap      = errors.New("segment is missing, or has too few events")
	errMeta     = errors.New("meta has no valid slot")
	errBorder   = errors.New("log does not end where an event does")
	errSave     = errors.New("too much to keep of what would be cut")
	errUnsure   = errors.New("too much to search for events behind the damage")
)

// CorruptError says that a log is damaged. [Open] returns it where there are, or
// may be, valid events behind the damage, which cutting would lose, and has not
// changed the file then; iterators return it where they come to the damage. It
// is inside a *[io/fs.PathError]: use [errors.As].
type CorruptError struct {
	Offset int64 // of the first event that is not whole; 0 if it is the header that is damaged
	Err    error // what is wrong, io.ErrUnexpectedEOF if the file has been cut
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged at offset %d: %v", e.Offset, e.Err)
}

// Unwrap returns e.Err.
func (e *CorruptError) Unwrap() error { return e.Err }
