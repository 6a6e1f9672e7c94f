package eventlog

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
)

// Event is an event of a log.
//
// Data is the file's own memory, and must not be changed. It is valid until its Log or Reader
// is closed or unreachable, also when the file grows; [Stream.Events] and [Stream.Get] say how
// long it is valid there. An access after that faults, or on Windows returns undefined
// content. If the file cannot be mapped, Data is a copy. It has no spare capacity.
type Event struct {
	Offset int64 // where its entry begins in the file
	Seq    int64 // number in its Stream; 0 in a Log, which does not number events
	Time   time.Time
	Data   []byte
}

// Next returns the offset of the event after e, from which to resume in a Log or a Reader. In
// a Stream, resume from e.Seq+1 instead.
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
	src       eventfile.Source
	done      <-chan struct{} // closed when a context is done; nil without one
	off       int64           // offset of the next entry
	end       int64           // end of the log, as last seen
	minTime   int64           // no event older than this
	started   bool
	asking    bool    // it loads startWord, which may fault
	startWord *uint64 // StartTimestamp, which is first while events are not taken back; nil if it is not mapped, or was 0
	first     uint64
	start     int64 // StartTimestamp when the loop began
	limit     int64 // no event from this offset on, in a Stream
	pass      bool  // it reads a segment from its first event on
	seq       int64 // number of the next entry, in a Stream
	inc       int64 // what an event adds to seq: 1 in a Stream, 0 in a Log
	n         int
	batch     [batchEvents]Event
}

func (lf *logFile) newCursor(from, minTime int64) *cursor {
	return &cursor{logFile: lf, src: eventfile.Source{File: lf.f, Keep: true}, off: from, minTime: minTime}
}

// look reads the end of the log, with StartTimestamp before and after it: see FORMAT.md.
func (c *cursor) look() (err error) {
	if c.start == 0 { // else the first that there was
		if c.start, err = c.src.Start(); err != nil {
			return err
		}
		if c.start != 0 {
			c.startWord, c.first = c.src.StartWord(), eventfile.LittleWord(uint64(c.start))
		}
	}
	end, err := c.src.End()
	if err != nil {
		return err
	}
	start, err := c.src.Start()
	if err != nil {
		return err
	}
	if c.start == 0 && start != 0 { // the header was written meanwhile
		return c.look()
	}
	if c.limit > 0 {
		end = min(end, c.limit)
	}
	switch {
	case !c.started:
		if c.off == 0 {
			c.off = eventfile.HeaderSize
		}
		if c.off < eventfile.HeaderSize || c.off > end {
			return fs.ErrInvalid
		}
		c.started = true
	case end < c.end:
		return &CorruptError{end, io.ErrUnexpectedEOF}
	case c.inc == 0 && c.takenBack(start): // in a Stream meta tells
		return &CorruptError{c.off, ErrTruncated}
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

// takenBack reports whether a writer has taken back events since the loop began, given StartTimestamp. 0 is
// that of a file without a header.
func (c *cursor) takenBack(start int64) bool {
	return c.start != 0 && start != 0 && c.start != start
}

// overwritten reports whether the memory of the batch may have other events since it was verified: a writer has
// taken back events. The next step tells.
func (c *cursor) overwritten() bool {
	if c.startWord == nil { // the events are copies
		return false
	}
	c.asking = true
	start := atomic.LoadUint64(c.startWord)
	c.asking = false
	return start != c.first && start != 0
}

// again is deferred by a call that hands out a batch. A fault in overwritten says that the file was truncated or closed:
// then the next step tells, too. A panic in the loop's body goes on.
func (c *cursor) again(more *bool) {
	if !c.asking {
		return
	}
	c.asking = false
	if r := recover(); !guard.IsFault(r, true) {
		panic(r)
	}
	*more = true
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
		off := c.off
		err := c.fill()
		if c.inc > 0 {
			return err
		}
		start, serr := c.src.Start() // after the events: they may be others since look
		if serr == nil && c.takenBack(start) {
			c.n, c.off = 0, off
			err = &CorruptError{off, ErrTruncated}
		}
		return cmp.Or(err, serr)
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
	switch st, err := eventfile.StateOf(lf.f); {
	case err != nil: // closed meanwhile
		return nil
	case st.Size < eventfile.HeaderSize:
		return io.ErrUnexpectedEOF
	case !st.Valid(st.Size):
		return eventfile.ErrHeader
	}
	return nil
}

// hand gives the batch to the loop's body, as long as the iteration is to go on.
func (c *cursor) hand(err error, yield func(Event, error) bool) (more bool) {
	defer c.again(&more)
	after := c.off
	for i := range c.n {
		c.off = c.batch[i].Offset
		select {
		case <-c.done:
			return true // Follow asks the context for its error
		default:
		}
		if c.overwritten() {
			return true
		}
		if c.ended.Load() {
			yield(Event{Offset: c.off}, c.fail("events", os.ErrClosed))
			return false
		}
		if !yield(c.batch[i], nil) {
			return false
		}
	}
	c.off = after
	if err != nil {
		yield(Event{Offset: c.off}, c.askAgain(err))
		return false
	}
	return true
}

// askAgain returns err, or that a writer has taken back events: before err, or since, in the loop's body. A log that has
// become shorter tells so itself.
func (c *cursor) askAgain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	start := int64(0)
	if serr := c.whileOpen("events", func() (err error) { start, err = c.src.Start(); return err }); serr != nil || !c.takenBack(start) {
		return err
	}
	return c.fail("events", &CorruptError{c.off, ErrTruncated})
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
