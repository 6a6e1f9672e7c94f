package eventlog

import (
	"bytes"
	"io"
)

// Recovery is what opening a log has found.
type Recovery struct {
	Events int64  // how many are in the log
	Offset int64  // where it ends, and what was cut began
	Cut    int64  // how many bytes of events were cut, as far as WriteOffset had them
	Kept   string // the file beside the log with what was cut, where there may be valid events in that; else ""
}

// recover finds out where the log ends, and makes it so. Where repair is not set
// it changes nothing in a file that is damaged before valid events.
func (l *Log) recover(repair bool) error {
	size, err := l.size()
	if err != nil {
		return err
	}
	w := walk{source: source{f: l.f, upto: size}, size: size, repair: repair}
	damage := error(nil)
	if err := l.inside("open", func() error {
		if size <= headerSize {
			if b, err := w.bytes(0, size); err != nil || len(bytes.Trim(b, "\x00")) == 0 {
				w.empty = err == nil
				return err
			}
		}
		w.cover(size)
		damage = w.walk(l.o.Verify)
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
	if repair && damage != nil || w.save {
		from := w.end
		if w.claim = min(w.claim, size); w.badHeader {
			from = 0
		}
		if l.recovered.Kept, err = l.keep(from, w.claim); err != nil {
			return err
		}
	}
	return l.settle(&w)
}

// settle makes the file what the walk has found it to be.
func (l *Log) settle(w *walk) error {
	l.end, l.count = w.end, w.count
	h := header{w.end, w.count, w.head.start}
	if w.size == w.end && w.head == h {
		l.attach(w.size)
		return nil
	}
	if w.head != h {
		if _, err := l.f.WriteAt(h.bytes(), 0); err != nil {
			return err
		}
	}
	// What is behind the end must be zeros again, and be so before anything else
	// is stored there: see torn.
	if w.size > w.end {
		// A file as long as its WriteOffset is known to be durable up to there.
		if err := l.f.Sync(); err != nil {
			return err
		}
		if err := l.f.Truncate(w.end); err != nil {
			if err := writeZeros(l.f, w.end, w.size); err != nil {
				return err
			}
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

// walk is a walk over all events, to find where they end.
type walk struct {
	source
	size  int64 // of the file
	head  header
	claim int64 // WriteOffset, or as much of it as can be believed
	limit int64 // how far there can be events
	end   int64 // of the last that is whole
	count int64
	empty bool // not a log yet

	repair    bool // go on where the header is bad
	badHeader bool
	save      bool  // there may be valid events in what is cut
	seen      bool  // something that looked like one was
	broken    error // what kept us from looking
}

// walk walks. Its result is the damage that is not to be cut without being told to.
func (w *walk) walk(verify int64) error {
	if w.size < headerSize {
		w.end, w.claim, w.badHeader = headerSize, headerSize, true
		return &CorruptError{0, io.ErrUnexpectedEOF}
	}
	b, err := w.bytes(0, headerSize)
	if err != nil {
		return w.fails(err)
	}
	w.head = parseHeader(b)
	w.claim = w.head.end
	w.badHeader = !w.head.valid(w.size)
	if w.badHeader {
		if !w.repair {
			return &CorruptError{0, errHeader}
		}
		w.claim = w.size
	}
	w.limit = min(w.claim, w.size)
	from := int64(headerSize)
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
	case w.cutShort(err):
		return nil
	case w.crossed():
		w.badHeader = true
		if w.repair { // events count as long as they are valid
			w.claim, w.limit, w.count = w.size, w.size, 0
			w.events(headerSize)
			if w.broken != nil {
				return w.broken
			}
		}
		return &CorruptError{0, errBorder}
	}
	torn := w.claim != w.size && w.torn()
	damage := w.behind(err)
	if w.broken != nil || !torn || damage == nil {
		return damage
	}
	// What is valid behind it is newer, but for a flipped bit in a page of zeros
	// that were data.
	if !w.seen {
		return nil // nothing was found that could be
	}
	if min(w.claim, w.size)-w.end > mostSaved {
		return &CorruptError{w.end, errSave}
	}
	w.save = true
	return nil
}

// events walks from the first event to the last that is whole. Those that end
// behind from are verified.
func (w *walk) events(from int64) error {
	w.end = headerSize
	for w.end < w.limit {
		e, _, err := w.event(w.end, w.limit, false)
		if err == nil && e.next(w.end) > from {
			_, _, err = w.event(w.end, w.limit, true)
		}
		if err == io.ErrUnexpectedEOF {
			err = errCut
		}
		if err != nil {
			if err != errCut && err != errChecksum {
				return w.fails(err)
			}
			return err
		}
		w.end = e.next(w.end)
		w.count++
	}
	return nil
}

func (w *walk) fails(err error) error {
	w.broken = err
	return err
}

// cutShort reports whether the file ends within the event that is not whole.
func (w *walk) cutShort(err error) bool {
	if err != errCut || w.claim <= w.size {
		return false
	}
	b, err := w.bytes(w.end, min(entrySize, w.size-w.end))
	return err == nil && (len(b) < entrySize || parseEntry(b).next(w.end) <= w.claim)
}

// forward goes over the events that EventCount has and WriteOffset has not, if
// all of them are there: a writer was killed between the stores of the two, or
// WriteOffset is damaged.
func (w *walk) forward() error {
	end, count := w.end, w.count
	for ; count < w.head.count; count++ {
		e, _, err := w.event(end, w.size, true)
		if err == errCut || err == errChecksum || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return w.fails(err)
		}
		end = e.next(end)
	}
	w.end, w.count = end, count
	return nil
}

// crossed reports whether there is a whole event across WriteOffset, which no
// writer and no crash leaves: then it is WriteOffset that is wrong.
func (w *walk) crossed() bool {
	_, _, err := w.event(w.end, w.limit, false)
	if err != errCut || w.limit == w.size {
		return false
	}
	_, _, err = w.event(w.end, w.size, true)
	return err == nil
}

// torn reports whether the event that is not whole is one that a crash of the
// system has left so: one of its pages is as it was at the last Sync, which is
// zeros from the end of what had been synced. Then all from there on is newer,
// whatever there is of it. (A file that is as long as its WriteOffset was closed,
// and synced then.)
func (w *walk) torn() bool {
	end := min(w.end+entrySize, w.limit)
	if e, _, err := w.event(w.end, w.limit, false); err == nil {
		end = e.next(w.end)
	}
	for off := w.end; off < end; {
		next := min((off/page+1)*page, w.limit)
		p, err := w.bytes(off, next-off)
		if err != nil || allZero(p) {
			return err == nil
		}
		off = next
	}
	return false
}

var zeroPage [page]byte

func allZero(p []byte) bool { return bytes.Equal(p, zeroPage[:len(p)]) }

// How much is searched for a valid event behind one that is not. A file can be
// made so that each of its bytes seems to begin a long event; the bounds keep
// that from taking longer than a second.
const (
	searchBytes = 64 << 20
	searchSums  = 256 << 20
)

// How much Open copies. A sparse file can be longer than the disk.
const mostSaved = 1 << 30

// behind searches for a valid event behind the one that is not. Where there is
// none, what is left is a torn tail, and no damage.
func (w *walk) behind(why error) error {
	damage := &CorruptError{w.end, why}
	if e, _, err := w.event(w.end, w.limit, false); err == nil {
		if _, _, err := w.event(e.next(w.end), w.limit, true); err == nil {
			w.seen = true
			return damage
		}
	}
	sums := int64(0)
	for off := w.end + 1; w.limit-off >= entrySize; off++ {
		p, err := w.bytes(off, entrySize)
		if err != nil {
			return w.fails(err)
		}
		e := parseEntry(p)
		fits := e.next(off) <= w.limit && e != (entry{}) // zeros are no event
		if fits {
			w.seen = true
			sums += entrySize + int64(e.size)
		}
		if off-w.end > searchBytes || sums > searchSums {
			return &CorruptError{w.end, errUnsure}
		}
		if !fits {
			continue
		}
		if _, _, err := w.event(off, w.limit, true); err == nil {
			return damage
		} else if err != errChecksum {
			return w.fails(err)
		}
	}
	return nil
}
