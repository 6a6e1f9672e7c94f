package eventfile

import (
	"io"
	"slices"
	"sync"
)

// IndexStep is the number of events from one point of an index to the next. With 2, ten
// million events have 40 MB of points, and a lookup walks over half an event on average, which
// is a cache miss. With 4, a Get of a random event of 1 KiB among a million takes 0.25 µs longer.
const IndexStep = 2

const walkBytes = 4 << 10 // a copy from a file that is not mapped has so many bytes

// Index has the offsets of some events of a segment.
type Index struct {
	mu     sync.RWMutex
	points []int64 // offsets of the events 0, IndexStep, 2·IndexStep, …
	n      int64   // number of events in the index
	end    int64   // end of the last one; 0 if the index was not begun

	damaged bool // the event at end was not whole when it was read last
}

// Add adds event i of the segment, from off to end. It does nothing if an event before it is
// not in the index.
func (x *Index) Add(i, off, end int64) {
	x.mu.Lock()
	if i == 0 {
		x.Clear()
	}
	if i == x.n && (i == 0 || off == x.end) {
		x.Append(off, end)
	}
	x.mu.Unlock()
}

// Clear removes all events. No other goroutine uses x meanwhile.
func (x *Index) Clear() {
	x.points, x.n, x.end, x.damaged = x.points[:0], 0, HeaderSize, false
}

// Take gives x the events of other, which is not used any more.
func (x *Index) Take(other *Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.points, x.n, x.end, x.damaged = other.points, other.n, other.end, other.damaged
}

// Append adds the next event. No other goroutine uses x meanwhile.
func (x *Index) Append(off, end int64) {
	if x.n%IndexStep == 0 {
		x.points = append(x.points, off)
	}
	x.n++
	x.end = end
}

// Truncate removes the events from number i on.
func (x *Index) Truncate(i int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i < x.n {
		x.n = i / IndexStep * IndexStep
		k := x.n / IndexStep
		x.end = x.points[k]
		x.points = x.points[:k]
		x.damaged = false
	}
}

// Count returns a lower bound of the number of events that end at off or before, to within
// IndexStep.
func (x *Index) Count(off int64) int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if off >= x.end {
		return x.n
	}
	k, found := slices.BinarySearch(x.points, off)
	if !found {
		k--
	}
	return int64(max(k, 0)) * IndexStep
}

// Place is the position of an event in its segment.
type Place struct {
	Off int64 // offset of the event, or the end of the events if there is no such event
	N   int64 // number of events in the index; the event is there if its number is less
	End int64 // the event ends here or before
}

// Look returns the place of event i, or of the point before it.
func (x *Index) Look(i int64) (p Place) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p = Place{x.end, x.n, x.end}
	if i < x.n {
		p.Off = x.points[i/IndexStep]
	}
	return p
}

// Walk returns the place of event i, given that of the point before it.
func (x *Index) Walk(src *Source, i int64, p Place) (Place, error) {
	off := p.Off
	src.Limit = min(p.End, off+walkBytes)
	for range i % IndexStep {
		if src.Mem != nil {
			src.Limit = off + EntrySize // to read ahead would touch other pages
		}
		e, _, err := src.Event(off, p.End, false)
		if err != nil {
			return Place{Off: off}, err
		}
		off = e.Next(off)
	}
	p.Off = off
	return p, nil
}

// Unknown is the number of events that a segment is to have if events may still follow.
const Unknown = -1

// Extend adds all events before end. It checks no data, unless the entries do not lead to end, or
// not by the right number of events. Then it adds the events before the first that is not whole,
// and returns what is wrong with that one. If all are whole, but not want, it clears the index,
// and returns ErrGap.
func (x *Index) Extend(src *Source, end, want int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.damaged && x.end < end {
		if _, _, err := src.Event(x.end, end, true); err != nil {
			return err
		}
	}
	begun := x.end > 0 && !x.damaged
	if !begun || want != Unknown && x.end > end {
		x.Clear()
	}
	err := x.walkTo(src, end, false)
	if err != nil && !NotWhole(err) {
		return err
	}
	if err == nil && (x.n == want || want == Unknown && begun) {
		return nil
	}
	if err == nil {
		switch right, err := x.counted(src, want); {
		case err != nil:
			x.Clear()
			return err
		case right:
			return nil
		}
	}
	// A damaged size leads to bytes that are no entry, or only look like one. The checksums tell
	// which events are before it.
	x.Clear()
	err = x.walkTo(src, end, true)
	if err == nil && want != Unknown {
		x.Clear()
		return ErrGap
	}
	x.damaged = err != nil && NotWhole(err)
	return err
}

// counted reports whether the index may have another number of events than want. It may have
// less if that is also the EventCount: then a segment is missing, or Repair has truncated this
// one, and the events that are there have the right numbers. If want is Unknown, EventCount is
// exact if the file was closed.
func (x *Index) counted(src *Source, want int64) (bool, error) {
	var b [HeaderSize]byte
	if n, err := src.File.ReadAt(b[:], 0); err == io.EOF {
		clear(b[n:]) // it has no header yet
	} else if err != nil {
		return false, err
	}
	h := ParseHeader(b[:])
	if want != Unknown {
		return x.n < want && x.n == h.Count, nil
	}
	fi, err := src.File.Stat()
	return err == nil && (x.n == h.Count || x.end != h.End || h.End != fi.Size()), err
}

// walkTo adds the events before end, until one is not whole.
func (x *Index) walkTo(src *Source, end int64, check bool) error {
	for x.end < end {
		e, _, err := src.Event(x.end, end, check)
		if err != nil {
			return err
		}
		x.Append(x.end, e.Next(x.end))
	}
	return nil
}
