package eventlog

import (
	"io/fs"
	"math"
	"time"

	"go.dw1.io/mmapfile"
)

// Options says how a log is written. The zero value is what most people want.
type Options struct {
	// Grow is by how many bytes the file grows when it is full. 0 means by as much
	// as it has, between 1 and 64 MiB. The blocks are allocated then, so that a
	// full disk is an error of the append that needed the room, and the step is
	// less where so much room is not to be had.
	Grow int64

	// MaxSize is how long the file may become, in bytes; what does not fit any more
	// is [ErrFull]. 0 means no limit.
	MaxSize int64

	// Flush says when events are made durable without a call of Sync. With Bytes,
	// the append that leaves so many bytes unflushed makes all of them durable
	// before it returns, and a failure of that is an error of the next Sync or Close.
	Flush mmapfile.FlushPolicy

	// Verify is of how many bytes at the log's end Open verifies the checksums: 0
	// means of all, a negative number of none. It always looks at the size of every
	// event, to see that each begins where the one before ends. Who makes every
	// so many bytes durable need not verify more than these.
	Verify int64

	// Now is the clock; nil means that of the system, as [time.Now] tells it, or
	// did within the last millisecond in case that it was set. It is called
	// concurrently. A time that int64 nanoseconds do not hold (before 1678, after
	// 2261) becomes the nearest that they do.
	Now func() time.Time
}

const (
	leastGrow = 1 << 20
	mostGrow  = 64 << 20
	mostAsked = 1 << 40 // so that sums stay in range
)

func (o *Options) valid() bool {
	return o.Grow >= 0 && o.MaxSize >= 0 && o.Flush.Bytes >= 0 && o.Flush.Interval >= 0
}

// maxSize is MaxSize as a number that is one.
func (o *Options) maxSize() int64 {
	if o.MaxSize == 0 {
		return math.MaxInt64
	}
	return o.MaxSize
}

// step is by how much a file of that size grows.
func (o *Options) step(size int64) int64 {
	if o.Grow > 0 {
		return min(o.Grow, mostAsked)
	}
	return min(max(size, leastGrow), mostGrow)
}

// openError is err as os.OpenFile would return it.
func openError(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
