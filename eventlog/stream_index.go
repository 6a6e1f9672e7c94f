package eventlog

import (
	"io"
	"slices"
	"sync"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// indexStep is the number of events from one point of an index to the next. With 2, ten
// million events have 40 MB of points, and a lookup walks over half an event on average, which
// is a cache miss. With 4, a Get of a random event of 1 KiB among a million takes 0.25 µs longer.
const indexStep = 2

// index has the offsets of some events of a segment.
type index struct {
	mu     sync.RWMutex
	points []int64 // offsets of the events 0, indexStep, 2·indexStep, …
	n      int64   // number of events in the index
	end    int64   // end of the last one; 0 if the index was not begun

	damaged bool // the event at end was not whole when it was read last
}

// add adds event i of the segment, from off to end. It does nothing if an event before it is
// not in the index.
func (x *index) add(i, off, end int64) {
	x.mu.Lock()
	if i == 0 {
		x.clear()
	}
	if i == x.n && (i == 0 || off == x.end) {
		x.note(off, end)
	}
	x.mu.Unlock()
}

func (x *index) clear() {
	x.points, x.n, x.end, x.damaged = x.points[:0], 0, eventfile.HeaderSize, false
}

// take makes x have what other has, which is not used any more.
func (x *index) take(other *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.points, x.n, x.end, x.damaged = other.points, other.n, other.end, other.damaged
}

func (x *index) note(off, end int64) {
	if x.n%indexStep == 0 {
		x.points = append(x.points, off)
	}
	x.n++
	x.end = end
}

// truncate removes the events from number i on.
func (x *index) truncate(i int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i < x.n {
		x.n = i / indexStep * indexStep
		k := x.n / indexStep
		x.end = x.points[k]
		x.points = x.points[:k]
		x.damaged = false
	}
}

// count returns a lower bound of the number of events that end at off or before, to within
// indexStep.
func (x *index) count(off int64) int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if off >= x.end {
		return x.n
	}
	k, found := slices.BinarySearch(x.points, off)
	if !found {
		k--
	}
	return int64(max(k, 0)) * indexStep
}

// place is the position of an event in its segment.
type place struct {
	off int64 // offset of the event, or the end of the events if there is no such event
	n   int64 // number of events in the index; the event is there if its number is less
	end int64 // the event ends here or before
}

// look returns the place of event i, or of the point before it.
func (x *index) look(i int64) (p place) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p = place{x.end, x.n, x.end}
	if i < x.n {
		p.off = x.points[i/indexStep]
	}
	return p
}

// walk returns the place of event i, given that of the point before it.
func (x *index) walk(src *source, i int64, p place) (place, error) {
	off := p.off
	src.upto = min(p.end, off+page)
	for range i % indexStep {
		if src.mem != nil {
			src.upto = off + eventfile.EntrySize // to bring more would touch other pages
		}
		e, _, err := src.event(off, p.end, false)
		if err != nil {
			return place{off: off}, err
		}
		off = e.Next(off)
	}
	p.off = off
	return p, nil
}

// unknown is the number of events that a segment is to have if events may still follow.
const unknown = -1

// extend adds all events before end. It checks no data, unless the entries do not lead to end, or
// not by the right number of events. Then it adds the events before the first that is not whole,
// and returns what is wrong with that one. If all are whole, but not want, it clears the index,
// and returns errGap.
func (x *index) extend(src *source, end, want int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.damaged && x.end < end {
		if _, _, err := src.event(x.end, end, true); err != nil {
			return err
		}
	}
	begun := x.end > 0 && !x.damaged
	if !begun || want != unknown && x.end > end {
		x.clear()
	}
	err := x.walkTo(src, end, false)
	if err != nil && !notWhole(err) {
		return err
	}
	if err == nil && (x.n == want || want == unknown && begun) {
		return nil
	}
	if err == nil {
		switch right, err := x.counted(src, want); {
		case err != nil:
			x.clear()
			return err
		case right:
			return nil
		}
	}
	// A damaged size leads to bytes that are no entry, or only look like one. The checksums tell
	// which events are before it.
	x.clear()
	err = x.walkTo(src, end, true)
	if err == nil && want != unknown {
		x.clear()
		return errGap
	}
	x.damaged = err != nil && notWhole(err)
	return err
}

// counted reports whether the index may have another number of events than want. It may have
// less if that is also the EventCount: then a segment is missing, or Repair has truncated this
// one, and the events that are there have the right numbers. If want is unknown, EventCount is
// exact if the file was closed.
func (x *index) counted(src *source, want int64) (bool, error) {
	var b [eventfile.HeaderSize]byte
	if n, err := src.f.ReadAt(b[:], 0); err == io.EOF {
		clear(b[n:]) // it has no header yet
	} else if err != nil {
		return false, err
	}
	h := eventfile.ParseHeader(b[:])
	if want != unknown {
		return x.n < want && x.n == h.Count, nil
	}
	fi, err := src.f.Stat()
	return err == nil && (x.n == h.Count || x.end != h.End || h.End != fi.Size()), err
}

// walkTo adds the events before end, until one is not whole.
func (x *index) walkTo(src *source, end int64, check bool) error {
	for x.end < end {
		e, _, err := src.event(x.end, end, check)
		if err != nil {
			return err
		}
		x.note(x.end, e.Next(x.end))
	}
	return nil
}
