package eventlog

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// streamCursor is one walk over the events of a stream.
type streamCursor struct {
	*segmentList
	c       catalog
	ctx     context.Context  // nil for none
	seq     int64            // number of the next event
	minTime int64            // no event older than this
	b       eventfile.Bounds // as seen last; generation 0 before
	begun   bool
	entered bool // it has had a segment with event seq, or the place for that
	stale   bool // cur is past seq
	retry   bool // a batch was not handed out
	tries   int  // without an event, for one that should be there
	limited bool // Events: it goes to stop
	stop    stop
	removed int64 // events from this number on, which were there when it began, were removed

	onlyDurable bool

	seg *segment // acquired, with cur in it; nil between two segments
	cur *cursor
}

// ReadOption is an option of Events and Follow.
type ReadOption int

// OnlyDurable leaves out events that a crash of the system may take back. A loop over a Stream
// yields those before [Stream.Durable], and flushes nothing itself. A StreamReader knows that
// the events of a segment are durable once the writer has ended it, as [Stream.Roll] and
// [Stream.Close] do, so it yields whole segments.
const OnlyDurable ReadOption = 1

func newStreamCursor(c catalog, minTime int64, o ...ReadOption) *streamCursor {
	return &streamCursor{segmentList: c.list(), c: c, minTime: minTime, removed: math.MaxInt64, onlyDurable: slices.Contains(o, OnlyDurable)}
}

// leave releases the segment.
func (sc *streamCursor) leave() {
	if sc.seg != nil {
		sc.seg.release()
		sc.seg, sc.cur = nil, nil
	}
	sc.stale = false
}

// check compares the position with the bounds of now.
func (sc *streamCursor) check() error {
	b, err := sc.c.refresh()
	switch {
	case err != nil:
		return err
	case sc.closed.Load():
		return os.ErrClosed
	}
	if b.Generation != sc.b.Generation || !sc.begun {
		if n := b.Truncations - sc.b.Truncations; sc.begun && n > 0 {
			sc.removed = min(sc.removed, b.TruncatedTo)
			if n > 1 || b.TruncatedTo < sc.seq {
				return ErrTruncated
			}
		}
		sc.leave() // the segment may be another now
		sc.b, sc.begun = b, true
	}
	if sc.seq < sc.firstOf(b) || sc.seq > b.Limit() || sc.limited && sc.seq >= sc.removed {
		return ErrTruncated
	}
	return nil
}

// tryEnter is enter, but has the segments listed again if one is missing.
func (sc *streamCursor) tryEnter() (bool, error) {
	entered, err := sc.enter()
	if errors.Is(err, eventfile.ErrGap) && sc.c.relist() && sc.again() {
		return false, nil
	}
	return entered, err
}

// enter opens the segment of the next event. It returns false to try again.
func (sc *streamCursor) enter() (bool, error) {
	seg := sc.at(sc.seq)
	if seg == nil {
		if sc.seq > sc.firstOf(sc.b) {
			return false, sc.absent()
		}
		return false, nil // a stream that its writer has only just created
	}
	f, err := sc.acquire(seg)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && sc.again() {
			sc.c.relist()
			err = nil
		}
		return false, err
	}
	sc.seg = seg
	var off, next int64
	whole := sc.seq == seg.first && sc.minTime == everything // the checksums tell damage, and no index is needed
	err = f.whileOpen("events", func() (err error) {
		if whole {
			off, next = eventfile.HeaderSize, sc.seq
			return nil
		}
		off, next, err = seg.locate(f, sc.seq)
		return err
	})
	if err != nil {
		sc.leave()
		return false, f.fail("events", err)
	}
	if next < sc.seq {
		sc.leave()
		if next > seg.first && sc.c.grown(next) && sc.at(sc.seq) != seg {
			return false, nil
		}
		if !gap(sc.c, sc.seq) {
			if sc.seq == sc.b.First {
				return false, errBegun // by TruncateFront past the end: the next segment begins with seq
			}
			return false, sc.absent()
		}
		if !sc.again() {
			return false, damagedEvent(sc.seq, 0, eventfile.ErrGap)
		}
		return false, nil
	}
	sc.cur = f.newCursor(off, sc.minTime)
	sc.cur.started, sc.cur.seq, sc.cur.inc, sc.cur.src.Reuse = true, sc.seq, 1, true
	sc.cur.pass = whole
	sc.entered = true
	return true, nil
}

// absent returns the error of an event for which no segment has a place: the loop began past the end, or OpenStream has
// found less on the disk, and is about to say so in meta.
func (sc *streamCursor) absent() error {
	if sc.entered {
		return damagedEvent(sc.seq, 0, ErrTruncated)
	}
	return fs.ErrInvalid
}

// atEnd reports whether Events has come to its end.
func (sc *streamCursor) atEnd() bool {
	if sc.seg == nil || sc.retry || sc.stale || !sc.limited {
		return false
	}
	return sc.seg.first > sc.stop.first || sc.seg.first == sc.stop.first && sc.cur.off >= sc.stop.off
}

// step verifies the next events. more reports whether there may be more.
func (sc *streamCursor) step() (more bool, err error) {
	if sc.stale || sc.retry {
		sc.leave()
	}
	sc.retry = false
	if err := sc.check(); err != nil {
		return false, err
	}
	if sc.seg == nil {
		switch entered, err := sc.tryEnter(); {
		case err == errBegun:
			return false, nil
		case err != nil || !entered:
			return sc.at(sc.seq) != nil, err
		}
		if sc.atEnd() {
			return false, nil
		}
	}
	cur := sc.cur
	durable := int64(math.MaxInt64)
	cur.limit = math.MaxInt64
	if sc.onlyDurable {
		durable, cur.limit = sc.c.durable(sc.seg, cur.off)
		if sc.seq >= durable || cur.off > cur.limit {
			return false, sc.here()
		}
	}
	if sc.limited && sc.seg.first == sc.stop.first && sc.removed == math.MaxInt64 { // else the file may have other events by now
		cur.limit = min(cur.limit, sc.stop.off)
	}
	cur.end = 0 // TruncateBack makes a segment shorter
	err = cur.step(true)
	following := sc.following(sc.seg.first) // before the bounds, which change first
	if b, berr := sc.c.bounds(); berr != nil {
		return false, berr
	} else if b.Generation != sc.b.Generation {
		sc.leave()
		return true, nil // see check
	}
	if err != nil { // perhaps of pages that OpenStream has dropped
		if end, lerr := sc.last(); lerr == nil && end < cur.end {
			sc.stale = true
			return true, nil
		}
	}
	if sc.limited && (cur.seq > sc.removed || err != nil && cur.seq == sc.removed) {
		sc.clip(sc.removed)
		return true, nil // see check
	}
	if limit := min(sc.b.Limit(), durable); limit < cur.seq || err != nil && limit == cur.seq {
		sc.clip(limit) // an error is that of an event which it leaves out
		return false, nil
	}
	if following >= 0 && cur.seq > following {
		if sc.c.relist() && sc.again() {
			sc.leave()
			return true, nil
		}
		sc.clip(following)
		return true, damagedEvent(following, 0, eventfile.ErrGap)
	}
	if err != nil || cur.n > 0 || cur.seq > sc.seq {
		return true, err
	}
	if cur.off > cur.end { // OpenStream has found less on the disk, and is about to say so in meta
		return false, damagedEvent(sc.seq, cur.end, ErrTruncated)
	}
	if sc.seq > sc.seg.first && sc.c.grown(sc.seq) {
		// The writer has filled this segment before it created the next.
		if end, err := sc.last(); err != nil || end > cur.end {
			return true, err
		}
		sc.leave()
		return true, nil
	}
	if gap(sc.c, sc.seq) {
		if sc.leave(); !sc.again() {
			return false, damagedEvent(sc.seq, 0, eventfile.ErrGap)
		}
		return true, nil
	}
	return false, sc.here()
}

// again reports whether to look again for an event that should be there.
func (sc *streamCursor) again() bool {
	sc.tries++
	return again(sc.tries)
}

// last returns the end of the segment, with all events that it will have.
func (sc *streamCursor) last() (end int64, err error) {
	err = sc.cur.whileOpen("events", func() (err error) {
		end, err = sc.cur.src.End()
		return err
	})
	return end, err
}

// clip leaves out the events from number limit on, which are being truncated.
func (sc *streamCursor) clip(limit int64) {
	for sc.cur.n > 0 && sc.cur.batch[sc.cur.n-1].Seq >= limit {
		sc.cur.n--
	}
	sc.cur.seq, sc.stale = limit, true
}

// hand gives the batch to the loop's body, and then err if there is one.
func (sc *streamCursor) hand(err error, yield func(Event, error) bool) (more bool) {
	if cur := sc.cur; cur != nil {
		sc.retry = true // unless all of it was handed out: then meta tells more
		defer cur.again(&more)
		for i := range cur.n {
			if stop := sc.stopped(); stop != nil {
				return sc.yieldError(stop, yield)
			}
			if cur.overwritten() {
				return true
			}
			sc.seq, sc.tries = cur.batch[i].Seq+1, 0
			if !yield(cur.batch[i], nil) {
				return false
			}
		}
		sc.seq, cur.n = cur.seq, 0
		sc.retry = false
	}
	if err != nil && err != ErrTruncated && sc.stopped() == nil && sc.moved() && sc.again() {
		sc.retry = true // check tells why: what was read may have been removed before the error, or since, in the loop's body
		return true
	}
	return err == nil || sc.yieldError(err, yield)
}

// moved reports whether the bounds have changed since check.
func (sc *streamCursor) moved() bool {
	b, err := sc.c.bounds()
	return err == nil && sc.begun && b.Generation != sc.b.Generation
}

func (sc *streamCursor) yieldError(err error, yield func(Event, error) bool) bool {
	if sc.ctx == nil || err != sc.ctx.Err() {
		err = sc.fail("events", err)
	}
	yield(Event{Seq: sc.seq}, err)
	return false
}

// stopped returns why the loop ends now, if it does.
func (sc *streamCursor) stopped() error {
	if sc.closed.Load() {
		return os.ErrClosed
	}
	if sc.ctx != nil {
		return sc.ctx.Err()
	}
	return nil
}

// streamEvents is the iterator of Events, and of Since if minTime is not everything.
func streamEvents(c catalog, from, minTime int64, o ...ReadOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer runtime.KeepAlive(c)
		sc := newStreamCursor(c, minTime, o...)
		defer sc.leave()
		sc.seq, sc.limited = from, true
		err := sc.stopped()
		if err == nil && minTime != everything {
			sc.seq, err = segmentSince(c, minTime)
		}
		if err == nil {
			sc.stop, sc.b, err = stopOf(c)
			sc.begun = true
		}
		if err != nil {
			sc.yieldError(err, yield)
			return
		}
		for more := true; (more || sc.retry) && !sc.atEnd(); {
			more, err = sc.step()
			if err == nil && !more && !sc.atEnd() && !sc.onlyDurable && (sc.cur == nil || sc.cur.n == 0) && sc.removed < math.MaxInt64 {
				err = ErrTruncated // it was there when the loop began
			}
			if !sc.hand(err, yield) {
				return
			}
		}
	}
}

// segmentSince returns the number of the first event of the segment in which those at or after minTime
// begin, if the clock was not set back.
func segmentSince(c catalog, minTime int64) (int64, error) {
	l := c.list()
	b, err := c.refresh()
	if err != nil {
		return 0, err
	}
	list := l.segments()
	low, high := 0, len(list) // the last segment that was begun before minTime is in list[low:high]
	for high-low > 1 {
		mid := (low + high) / 2
		start, err := list[mid].started()
		if errors.Is(err, fs.ErrNotExist) {
			low = mid // dropped meanwhile
			continue
		}
		if err != nil {
			return 0, err
		}
		if start < minTime {
			low = mid
		} else {
			high = mid
		}
	}
	if low < len(list) {
		return max(list[low].first, l.firstOf(b)), nil
	}
	return b.First, nil
}

// streamFollow is the iterator of Follow.
func streamFollow(ctx context.Context, c catalog, seq int64, o []ReadOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		sc := newStreamCursor(c, everything, o...)
		sc.ctx, sc.seq = ctx, seq
		defer sc.leave()
		follow(ctx, c, func() (found, more bool) {
			err := sc.stopped()
			if err == nil {
				found, err = sc.step()
			}
			old := sc.seq
			more = sc.hand(err, yield)
			return found || sc.seq > old, more
		})
	}
}
