package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Event is an event of a log.
//
// Data is the file's own memory, and must not be changed. It is valid until its Log or Reader
// is closed or unreachable, also when the file grows. [Stream.Events] and [Stream.Get] say how
// long it is valid there. Touching it after that is a fault; on Windows its content is
// undefined. If the file cannot be mapped, Data is a copy. It has no spare capacity.
type Event struct {
	Offset int64 // where its entry begins in the file
	Seq    int64 // number in its Stream; 0 in a Log, which does not number events
	Time   time.Time
	Data   []byte
}

// Next returns the offset of the event after e, from which to resume in a Log or a Reader. In a
// Stream that is the number e.Seq+1 instead.
func (e Event) Next() int64 { return e.Offset + eventfile.EntrySize + int64(len(e.Data)) }

// everything is older than all events.
const everything = math.MinInt64

// since returns t in Unix nanoseconds, or the nearest value that int64 has.
func since(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Events are verified in batches before the loop's body sees them, so that the lock is taken
// less often. A batch fits into the processor's cache.
const (
	batchEvents = 64
	batchBytes  = 32 << 10
	maxSkipped  = 4 << 10 // events that are too old; Close waits for these
)

// cursor is the state of one iteration.
type cursor struct {
	*logFile
	src     eventfile.Source
	done    <-chan struct{} // closed when a context is done; nil without one
	off     int64           // offset of the next entry
	end     int64           // end of the log, as last seen
	minTime int64           // no event older than this
	started bool
	durable int64 // no event from this offset on, in a Stream; 0 for no such limit
	pass    bool  // it reads a segment from its first event on
	seq     int64 // number of the next entry, in a Stream
	inc     int64 // what an event adds to seq: 1 in a Stream, 0 in a Log
	n       int
	batch   [batchEvents]Event
}

func (lf *logFile) newCursor(from, minTime int64) *cursor {
	return &cursor{logFile: lf, src: eventfile.Source{File: lf.f, Keep: true}, off: from, minTime: minTime}
}

// look reads the end of the log.
func (c *cursor) look() error {
	end, err := c.src.End()
	if err != nil {
		return err
	}
	if end == 0 {
		end = eventfile.HeaderSize // it has no header yet
	}
	if c.durable > 0 {
		end = min(end, c.durable)
	}
	switch {
	case end < eventfile.HeaderSize:
		return eventfile.ErrHeader
	case !c.started:
		if c.off == 0 {
			c.off = eventfile.HeaderSize
		}
		if c.off < eventfile.HeaderSize || c.off > end {
			return fs.ErrInvalid
		}
		c.started = true
	case end < c.end:
		return &CorruptError{max(end, 0), io.ErrUnexpectedEOF}
	}
	c.end, c.src.Limit = end, end
	switch {
	case end > c.off && c.pass:
		c.src.MapIfHot(end)
		c.pass = false
	case end > c.off:
		c.src.Map(end)
	}
	return nil
}

// fill verifies the next events. An error is that of the event after them.
func (c *cursor) fill() error {
	c.n = 0
	taken := 0
	for looked := 0; c.off < c.end && c.n < len(c.batch) && taken < batchBytes && looked < maxSkipped; looked++ {
		if c.n > 0 && !c.src.Holds(c.off) {
			break // the loop's body has the events in the buffer first
		}
		e, data, err := c.src.Event(c.off, c.end, c.minTime == everything)
		if err == nil && c.minTime != everything {
			if e.Time < c.minTime {
				c.off = e.Next(c.off)
				c.seq += c.inc
				continue
			}
			e, data, err = c.src.Event(c.off, c.end, true)
		}
		if err != nil {
			return err
		}
		c.batch[c.n] = Event{c.off, c.seq, time.Unix(0, e.Time), data}
		c.seq += c.inc
		c.n++
		c.off = e.Next(c.off)
		taken += len(data)
	}
	return nil
}

// step reads the end of the log, if asked to, and verifies one batch.
func (c *cursor) step(look bool) error {
	c.n = 0
	err := c.whileOpen("events", func() error {
		if look {
			if err := c.look(); err != nil {
				return err
			}
		}
		return c.fill()
	})
	if err == nil {
		return nil
	}
	return c.explain(err)
}

// explain makes the error of an event that is not whole a CorruptError, which tells whether
// the log was truncated, or the file is not a log.
func (c *cursor) explain(err error) error {
	pe := (*fs.PathError)(nil)
	isPath := errors.As(err, &pe)
	corrupt := func(off int64, err error) error {
		if c.inc > 0 {
			return damagedEvent(c.seq, off, err)
		}
		return &CorruptError{off, err}
	}
	if isPath && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	header := error(nil)
	if c.off == eventfile.HeaderSize {
		header = c.headerError()
	}
	switch {
	case err == eventfile.ErrHeader:
		err = corrupt(0, err)
	case header != nil:
		err = corrupt(0, header)
	case err == eventfile.ErrChecksum || err == eventfile.ErrPastEnd:
		if size, serr := c.size(); serr == nil && size < c.end {
			err = io.ErrUnexpectedEOF
		}
		err = corrupt(c.off, err)
	case err == io.ErrUnexpectedEOF || isPath:
		err = corrupt(c.off, io.ErrUnexpectedEOF)
	}
	return &fs.PathError{Op: "events", Path: c.f.Name(), Err: err}
}

// headerError returns what is wrong with the beginning of the file.
func (lf *logFile) headerError() error {
	var b [eventfile.HeaderSize]byte
	size, err := lf.size()
	if err != nil {
		return nil // closed meanwhile
	}
	if n, err := lf.f.ReadAt(b[:], 0); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if n == len(b) && !eventfile.ParseHeader(b[:]).Valid(size) {
		return eventfile.ErrHeader
	}
	return nil
}

// hand gives the batch to the loop's body, as long as the iteration is to go on.
func (c *cursor) hand(err error, yield func(Event, error) bool) bool {
	for i := range c.n {
		select {
		case <-c.done:
			c.off = c.batch[i].Offset
			return true // Follow asks the context for its error
		default:
		}
		if c.ended.Load() {
			yield(Event{Offset: c.batch[i].Offset}, c.fail("events", os.ErrClosed))
			return false
		}
		if !yield(c.batch[i], nil) {
			return false
		}
	}
	if err != nil {
		yield(Event{Offset: c.off}, err)
		return false
	}
	return true
}

// events is the iterator of Events and Since.
func (lf *logFile) events(from, minTime int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		// A fault in the loop's body is a panic, and does not end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer runtime.KeepAlive(lf)
		c := lf.newCursor(from, minTime)
		for look := true; look || c.off < c.end; look = false {
			if !c.hand(c.step(look), yield) {
				return
			}
		}
	}
}
