package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"runtime/debug"
	"time"
)

// Event is an event of a log.
//
// Data is the file's own memory, which must not be changed, and need not be
// copied to be kept: it is good until the Log or Reader that it came from is
// closed, or no longer reachable, however the file grows. After that touching it
// is a fault, or on Windows shows anything. Where nothing can be mapped, it is a
// copy that belongs to the caller. It has no spare capacity.
type Event struct {
	Offset int64 // in the file, of its entry; the next is 16 + len(Data) behind that
	Seq    int64 // number in its Stream; 0 in a Log, which does not number events
	Time   time.Time
	Data   []byte
}

// everything is older than all events.
const everything = math.MinInt64

// since is t in Unix nanoseconds, or the nearest number of these.
func since(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// events are verified so many at a time, before the loop's body sees them: the
// less often the lock is taken the better, but the body should find them in the
// processor's cache.
const (
	batchEvents = 64
	batchBytes  = 32 << 10
	mostLooked  = 4 << 10 // that are too old; Close waits for these
)

// cursor is one walk over the events.
type cursor struct {
	*space
	src      source
	off      int64 // of the next entry
	end      int64 // of the log, as last seen
	least    int64 // no event older than this
	started  bool
	seq      int64 // number of the next entry, if numbered is 1 and not 0
	numbered int64
	n        int
	batch    [batchEvents]Event
}

func (s *space) newCursor(from, least int64) *cursor {
	return &cursor{space: s, src: source{f: s.f, keep: true}, off: from, least: least}
}

// look sees how far the log goes now.
func (c *cursor) look() error {
	end, err := c.src.end()
	if err != nil {
		return err
	}
	if end == 0 {
		end = headerSize // it has no header yet
	}
	switch {
	case !c.started:
		if c.off == 0 {
			c.off = headerSize
		}
		if end < headerSize {
			return &CorruptError{0, errHeader}
		}
		if c.off < headerSize || c.off > end {
			return fs.ErrInvalid
		}
		c.started = true
	case end < c.end:
		return &CorruptError{max(end, 0), io.ErrUnexpectedEOF}
	}
	c.end, c.src.upto = end, end
	if end > c.off {
		c.src.cover(end)
	}
	return nil
}

// fill verifies the next events. An error is for what comes behind them.
func (c *cursor) fill() error {
	c.n = 0
	taken := 0
	for looked := 0; c.off < c.end && c.n < len(c.batch) && taken < batchBytes && looked < mostLooked; looked++ {
		e, data, err := c.src.event(c.off, c.end, c.least == everything)
		if err == nil && c.least != everything {
			if e.time < c.least {
				c.off = e.next(c.off)
				c.seq += c.numbered
				continue
			}
			e, data, err = c.src.event(c.off, c.end, true)
		}
		if err != nil {
			return err
		}
		c.batch[c.n] = Event{c.off, c.seq, time.Unix(0, e.time), data}
		c.seq += c.numbered
		c.n++
		c.off = e.next(c.off)
		taken += len(data)
	}
	return nil
}

// step is one look, if asked for, and one batch.
func (c *cursor) step(look bool) error {
	c.n = 0
	err := c.inside("events", func() error {
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

// explain says of an event that is not whole that the log is damaged, and whether
// that is because it was truncated, or because the file is no log at all.
func (c *cursor) explain(err error) error {
	pe := (*fs.PathError)(nil)
	isPath := errors.As(err, &pe)
	if isPath && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	header := error(nil)
	if c.off == headerSize {
		header = c.headerError()
	}
	switch {
	case header != nil:
		err = &CorruptError{0, header}
	case err == errChecksum || err == errCut:
		if size, serr := c.size(); serr == nil && size < c.end {
			err = io.ErrUnexpectedEOF
		}
		err = &CorruptError{c.off, err}
	case err == io.ErrUnexpectedEOF || isPath:
		err = &CorruptError{c.off, io.ErrUnexpectedEOF}
	}
	return &fs.PathError{Op: "events", Path: c.f.Name(), Err: err}
}

// headerError is what is wrong with the beginning of the file.
func (s *space) headerError() error {
	var b [headerSize]byte
	size, err := s.size()
	if err != nil {
		return nil // closed meanwhile
	}
	if n, err := s.f.ReadAt(b[:], 0); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if n == len(b) && !parseHeader(b[:]).valid(size) {
		return errHeader
	}
	return nil
}

// hand gives the batch to the loop's body.
func (c *cursor) hand(err error, yield func(Event, error) bool) bool {
	for i := range c.n {
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
func (s *space) events(from, least int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		// A fault in the loop's body is a panic, and does not end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer runtime.KeepAlive(s)
		c := s.newCursor(from, least)
		for look := true; look || c.off < c.end; look = false {
			if !c.hand(c.step(look), yield) {
				return
			}
		}
	}
}
