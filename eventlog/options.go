package eventlog

import (
	"io/fs"
	"math"
	"time"

	"go.dw1.io/mmapfile"
)

// Options configures a log that is open for writing. The zero value is the default.
type Options struct {
	// Grow is the number of bytes that a full file grows by. 0 means its present
	// size, between 1 and 64 MiB. The blocks are allocated in advance, so that a
	// full disk is an error of the append that needs the space. A step for which
	// the disk has too little space is made smaller.
	Grow int64

	// MaxSize is the maximum length of the file in bytes, or of all files of a
	// Stream. An append that does not fit is [ErrFull]. 0 means no limit.
	MaxSize int64

	// Flush makes events durable without a call of Sync. With Bytes, an append that
	// leaves so many bytes unflushed flushes the log before it returns. With
	// Interval, a goroutine flushes the log until it is closed or unreachable. Other
	// appends continue during a flush. If one fails, the next Sync, AppendSync or
	// Close returns its error.
	Flush mmapfile.FlushPolicy

	// Verify is the number of bytes at the end of the log whose checksums Open
	// verifies, or [VerifyAll] or [VerifyNone]. Open always checks that each event
	// begins at the end of the one before. A program that flushes after n bytes
	// needs to verify only these.
	Verify int64

	// Now returns the time for an event. The default is the system's clock. A
	// change of that clock shows in events within a millisecond. Now may be called
	// concurrently. A time that int64 nanoseconds cannot represent (before 1678,
	// after 2261) becomes the nearest one that they can.
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
	growLimit = 1 << 40 // of Options.Grow, so that sums stay in range
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

// step returns the number of bytes that a file of the given size grows by.
func (o *Options) step(size int64) int64 {
	if o.Grow > 0 {
		return min(o.Grow, growLimit)
	}
	return min(max(size, minGrow), maxGrow)
}

// openError returns err as os.OpenFile would.
func openError(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
