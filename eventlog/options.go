package eventlog

import (
	"io/fs"
	"math"
	"time"

	"go.dw1.io/mmapfile"
)

// Options configure a log that is open for writing. The zero value is the default.
type Options struct {
	// Grow is the number of bytes that a full file grows by, with blocks allocated. 0 means as
	// many as it has, between 1 and 64 MiB, or fewer on a full disk.
	Grow int64

	// MaxSize is the maximum length of the file in bytes, or of all files of a Stream. An
	// append that does not fit fails with [ErrFull]. 0 means no limit.
	MaxSize int64

	// Flush makes events durable without a call of Sync, in parallel with other appends. If a
	// flush fails, the next Sync, AppendSync or Close returns its error.
	Flush mmapfile.FlushPolicy

	// Verify is the number of bytes at the end of the log whose checksums Open
	// verifies, or [VerifyAll] or [VerifyNone].
	Verify int64

	// Now returns the time for an event, and may be called concurrently. The
	// default is the system's clock, read at least every millisecond.
	Now func() time.Time
}

// Values of [Options].Verify.
const (
	VerifyAll  = 0  // verify the checksums of all events
	VerifyNone = -1 // verify no checksum; any negative number does
)

const (
	minGrow   = 1 << 20
	maxGrow   = 64 << 20
	growLimit = 1 << 40 // maximum of Options.Grow, so that sums stay in range
)

func (o *Options) valid() bool {
	return o.Grow >= 0 && o.MaxSize >= 0 && o.Flush.Bytes >= 0 && o.Flush.Interval >= 0
}

// maxSize returns MaxSize, or MaxInt64 if it is zero.
func (o *Options) maxSize() int64 {
	if o.MaxSize == 0 {
		return math.MaxInt64
	}
	return o.MaxSize
}

// growth returns the number of bytes that a file of the given size grows by.
func (o *Options) growth(size int64) int64 {
	if o.Grow > 0 {
		return min(o.Grow, growLimit)
	}
	return min(max(size, minGrow), maxGrow)
}

// openError returns err as os.OpenFile would.
func openError(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
