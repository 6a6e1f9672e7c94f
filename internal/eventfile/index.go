package eventfile

import (
	"slices"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// IndexStep is the least number of events from one point of an index to the next. With 2, ten
// million events have 40 MB of points, and a lookup walks over half an event on average, which
// is a cache miss. With 4, a Get of a random event of 1 KiB among a million takes 0.25 µs longer.
const IndexStep = 2

// MaxPoints is the number of points that the indexes of a stream have at most, without the last segment: 16 MiB.
const MaxPoints = 2 << 20

const walkBytes = 4 << 10 // a copy from a file that is not mapped has so many bytes

// Index has the offsets of some events of a segment.
type Index struct {
	mu     logdisk.RWMutex
	points []int64 // offsets of the events 0, step, 2·step, …
	step   int64
	n      int64 // number of events in the index
	end    int64 // end of the last one; 0 if the index was not begun
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
	x.points, x.step, x.n, x.end = x.points[:0], IndexStep, 0, HeaderSize
}

// Take gives x the events of other, which is not used any more.
func (x *Index) Take(other *Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.points, x.step, x.n, x.end = other.points, other.step, other.n, other.end
}

// Append adds the next event. No other goroutine uses x meanwhile.
func (x *Index) Append(off, end int64) {
	if x.n%x.step == 0 {
		if len(x.points) == MaxPoints {
			x.thin()
		}
		x.points = append(x.points, off)
	}
	x.n++
	x.end = end
}

// thin removes every second point.
func (x *Index) thin() {
	points := make([]int64, 0, (len(x.points)+1)/2)
	for i := 0; i < len(x.points); i += 2 {
		points = append(points, x.points[i])
	}
	x.points, x.step = points, 2*x.step
}

// Thin removes points of the indexes until all together have at most a number, from the densest first.
func Thin(all []*Index, most int) {
	total := 0
	for _, x := range all {
		total += x.Points()
	}
	for total > most {
		densest := all[0]
		for _, x := range all {
			if x.Points() > densest.Points() {
				densest = x
			}
		}
		if densest.Points() <= 1 {
			return
		}
		densest.mu.Lock()
		total -= len(densest.points)
		densest.thin()
		total += len(densest.points)
		densest.mu.Unlock()
	}
}

// Points returns the number of points.
func (x *Index) Points() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.points)
}

// Truncate removes the events from number i on.
func (x *Index) Truncate(i int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i < x.n {
		k := i / x.step
		x.n = k * x.step
		x.end = x.points[k]
		x.points = x.points[:k]
	}
}

// Count returns a lower bound of the number of events that end at off or before, to within
// the step of the index.
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
	return int64(max(k, 0)) * x.step
}

// Place is the position of an event in its segment.
type Place struct {
	I   int64 // number of the event at Off
	Off int64 // offset of the event, or the end of the events if there is no such event
	N   int64 // number of events in the index; the event is there if its number is less
	End int64 // the event ends here or before
}

// Look returns the place of event i, or of the point before it.
func (x *Index) Look(i int64) (p Place) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p = Place{x.n, x.end, x.n, x.end}
	if i < x.n {
		k := i / x.step
		p.I, p.Off = k*x.step, x.points[k]
	}
	return p
}

// After returns the place of the next point after event i.
func (x *Index) After(i int64) Place {
	x.mu.RLock()
	step := x.step
	x.mu.RUnlock()
	return x.Look(i + step)
}

// Walk returns the place of event i, given that of the point before it.
func (x *Index) Walk(src *Source, i int64, p Place) (Place, error) {
	off := p.Off
	src.Limit = min(p.End, off+walkBytes)
	for range i - p.I {
		if src.Mem != nil {
			src.Limit = off + EntrySize // to read ahead would touch other pages
		}
		e, _, err := src.Event(off, p.End, false)
		if err != nil {
			return Place{I: p.I, Off: off}, err
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
	begun := x.end > 0
	if begun && x.end < end { // it may have been damaged when it was read last
		if _, _, err := src.Event(x.end, end, true); err != nil {
			return err
		}
	}
	if !begun || want != Unknown && x.end > end {
		x.Clear()
	}
	err := x.walkTo(src, end, false)
	if err != nil && !NotWhole(err) {
		return err
	}
	if err == nil && (x.n == want || want == Unknown && begun) {
		if want != Unknown {
			x.points = append(make([]int64, 0, len(x.points)), x.points...) // none is added
		}
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
	return err
}

// counted reports whether the index may have another number of events than want. It may have
// less if that is also the EventCount: then a segment is missing, or Repair has truncated this
// one, and the events that are there have the right numbers. If want is Unknown, EventCount is
// exact if the file was closed.
func (x *Index) counted(src *Source, want int64) (bool, error) {
	s, err := StateOf(src.File)
	if err != nil {
		return false, err
	}
	h := s.Header
	if want != Unknown {
		return x.n < want && x.n == h.Count, nil
	}
	return x.n == h.Count || x.end != h.End || !s.Closed, nil
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
