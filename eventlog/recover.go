package eventlog

// A log is truncated at the first event that is not whole. If a valid event follows that one, a log
// that was closed stays as it is, which is a [CorruptError], and the end of any other log is saved
// before it is truncated.
//
// Only the search for a valid event tells a torn end from damage: without it each crash would leave
// a file that nobody needs, or Open would drop events that were durable.

import (
	"bytes"
	"io"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Recovery is what opening a log has found. [Stream.Recovery] says what it is of a Stream.
type Recovery struct {
	Events int64  // number of events in the log
	Offset int64  // its end, and the beginning of the truncated bytes
	Cut    int64  // number of bytes from Offset to WriteOffset, which were truncated
	Kept   string // the file beside the log that they were saved in, if events among them may be valid

	Truncated int64 // number of events that the log had after Offset, as its EventCount says
}

// recover finds the end of the log, and truncates the file there. Without repair it changes
// nothing if a crash does not leave such a file. It adds all events to x, unless that is nil.
func (l *Log) recover(repair bool, x *eventfile.Index) error {
	size, err := l.size()
	if err != nil {
		return err
	}
	w := walk{Source: eventfile.Source{File: l.f, Limit: size}, size: size, repair: repair, index: x}
	damage := error(nil)
	if err := l.inside("open", func() error {
		if size <= eventfile.HeaderSize {
			if b, err := w.Bytes(0, size); err != nil || len(bytes.Trim(b, "\x00")) == 0 {
				w.empty = err == nil
				return err
			}
		}
		w.Map(size)
		damage = w.validate(l.o.Verify)
		return nil
	}); err != nil {
		return err
	}
	switch {
	case w.empty:
		err := l.create()
		l.recovered = Recovery{Offset: l.end}
		return err
	case w.broken != nil:
		return w.broken
	case damage != nil && !repair:
		return damage
	}
	l.recovered = Recovery{Events: w.count, Offset: w.end, Cut: max(w.claim-w.end, 0)}
	if w.head.Valid(size) { // else its count is not to be believed
		l.recovered.Truncated = min(max(w.head.Count-w.count, 0), l.recovered.Cut/eventfile.EntrySize)
	}
	if repair && damage != nil || w.save {
		from := w.end
		if w.claim = min(w.claim, size); w.badHeader {
			from = 0
		}
		if l.recovered.Kept, err = l.save(from, w.claim); err == errTooMuch {
			err = &CorruptError{w.end, err}
		}
		if err != nil {
			return err
		}
	}
	if err := l.applyRecovery(&w); err != nil {
		return err
	}
	if w.size > w.end || l.recovered.Cut > 0 {
		stats.recoveries.Add(1)
		stats.cut.Add(uint64(l.recovered.Cut))
	}
	return nil
}

// applyRecovery truncates the file where its events end, and makes that durable.
func (l *Log) applyRecovery(w *walk) error {
	l.end, l.count = w.end, w.count
	h := eventfile.Header{End: w.end, Count: w.count, Start: w.head.Start}
	if w.head != h {
		if _, err := l.f.WriteAt(h.Bytes(), 0); err != nil {
			return err
		}
	}
	// What was after the end must be zeros again before anything else is stored there:
	// else a second crash could bring it back.
	if w.size > w.end {
		// Sync first: a file as long as its WriteOffset counts as durable.
		if err := l.f.Sync(); err != nil {
			return err
		}
		if err := truncateOrZero(l.f, w.end, w.size); err != nil {
			return err
		}
	}
	if err := l.f.Sync(); err != nil {
		return err
	}
	size, err := l.size()
	if err == nil {
		l.attach(size)
	}
	return err
}

// walk validates all events, to find where they end.
type walk struct {
	eventfile.Source
	size  int64 // length of the file
	head  eventfile.Header
	claim int64 // WriteOffset, or the size if the header is bad
	limit int64 // events reads no further
	end   int64 // end of the last event that is whole
	count int64
	index *eventfile.Index // has all events added; nil for none
	empty bool             // not a log yet

	repair    bool // go on after a bad header
	badHeader bool
	save      bool  // events after end may be valid
	broken    error // the system's, which ended the walk
}

// validate validates all events. It returns an error if truncating would need Repair.
func (w *walk) validate(verify int64) error {
	if w.size < eventfile.HeaderSize {
		w.end, w.claim, w.badHeader = eventfile.HeaderSize, eventfile.HeaderSize, true
		return &CorruptError{0, io.ErrUnexpectedEOF}
	}
	b, err := w.Bytes(0, eventfile.HeaderSize)
	if err != nil {
		return w.fail(err)
	}
	w.head = eventfile.ParseHeader(b)
	w.claim = w.head.End
	w.badHeader = !w.head.Valid(w.size)
	if w.badHeader {
		if !w.repair {
			return &CorruptError{0, errHeader}
		}
		w.claim = w.size
	}
	w.limit = min(w.claim, w.size)
	from := int64(eventfile.HeaderSize)
	switch {
	case verify < 0:
		from = w.limit
	case verify > 0:
		from = max(from, w.limit-verify)
	}
	err = w.events(from)
	switch {
	case w.broken != nil:
		return w.broken
	case w.badHeader:
		return &CorruptError{0, errHeader}
	case err == nil:
		return w.forward()
	case w.endsInFile(err):
		return nil
	case w.insideEvent():
		w.badHeader = true
		if w.repair { // valid events stay
			w.claim, w.limit, w.count = w.size, w.size, 0
			w.events(eventfile.HeaderSize)
			if w.broken != nil {
				return w.broken
			}
		}
		return &CorruptError{0, errBoundary}
	}
	damage := w.search(err)
	if w.broken != nil || damage == nil || w.claim == w.size {
		return damage
	}
	// The length of the file is not its WriteOffset, so it was not closed. A crash may have
	// left a page as it was in the middle of an append, before events that are newer and
	// whole.
	w.save = true
	return nil
}

// events goes from the first event to the last that is whole. It verifies those that end
// after from.
func (w *walk) events(from int64) error {
	w.end = eventfile.HeaderSize
	if w.index != nil {
		w.index.Clear()
	}
	for w.end < w.limit {
		e, _, err := w.Event(w.end, w.limit, false)
		if err == nil && e.Next(w.end) > from {
			_, _, err = w.Event(w.end, w.limit, true)
		}
		if err == io.ErrUnexpectedEOF {
			err = eventfile.ErrPastEnd
		}
		if err != nil {
			if err != eventfile.ErrPastEnd && err != eventfile.ErrChecksum {
				return w.fail(err)
			}
			return err
		}
		w.add(e.Next(w.end))
	}
	return nil
}

// add adds the event from w.end to end.
func (w *walk) add(end int64) {
	if w.index != nil {
		w.index.Append(w.end, end)
	}
	w.end = end
	w.count++
}

func (w *walk) fail(err error) error {
	w.broken = err
	return err
}

// endsInFile reports whether the file ends within the event that is not whole.
func (w *walk) endsInFile(err error) bool {
	if err != eventfile.ErrPastEnd || w.claim <= w.size {
		return false
	}
	b, err := w.Bytes(w.end, min(eventfile.EntrySize, w.size-w.end))
	return err == nil && (len(b) < eventfile.EntrySize || eventfile.ParseEntry(b).Next(w.end) <= w.claim)
}

// forward adds the events after WriteOffset that EventCount includes, if all are whole. A
// writer was killed between writing the two, or WriteOffset is damaged.
func (w *walk) forward() error {
	end := w.end
	var ends []int64
	for w.count+int64(len(ends)) < w.head.Count {
		e, _, err := w.Event(end, w.size, true)
		if err == eventfile.ErrPastEnd || err == eventfile.ErrChecksum || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return w.fail(err)
		}
		end = e.Next(end)
		ends = append(ends, end)
	}
	for _, end := range ends {
		w.add(end)
	}
	return nil
}

// insideEvent reports whether WriteOffset is inside a whole event. No writer and no crash leaves
// that, so WriteOffset is wrong.
func (w *walk) insideEvent() bool {
	_, _, err := w.Event(w.end, w.limit, false)
	if err != eventfile.ErrPastEnd || w.limit == w.size {
		return false
	}
	_, _, err = w.Event(w.end, w.size, true)
	return err == nil
}

// search looks at most at searchBytes for a valid event, and computes checksums of at most
// searchSums. A file can be made in which every byte seems to begin a long event. The bounds
// keep the search shorter than a second.
const (
	searchBytes = 64 << 20
	searchSums  = 256 << 20
)

// search looks for a valid event after the one that is not whole. If there is none, the rest
// is a torn tail, and not damage.
func (w *walk) search(why error) error {
	damage := &CorruptError{w.end, why}
	sums := int64(0)
	for off := w.end + 1; w.limit-off >= eventfile.EntrySize; off++ {
		p, err := w.Bytes(off, eventfile.EntrySize)
		if err != nil {
			return w.fail(err)
		}
		e := eventfile.ParseEntry(p)
		fits := e.Next(off) <= w.limit && e != (eventfile.Entry{}) // zeros are no event
		if fits {
			sums += eventfile.EntrySize + int64(e.Size)
		}
		if off-w.end > searchBytes || sums > searchSums {
			return &CorruptError{w.end, errSearch}
		}
		if !fits {
			continue
		}
		if _, _, err := w.Event(off, w.limit, true); err == nil {
			return damage
		} else if err != eventfile.ErrChecksum {
			return w.fail(err)
		}
	}
	return nil
}
