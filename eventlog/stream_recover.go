package eventlog

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// recover makes the directory a stream, and opens its last segment.
//
// A segment is closed, and so durable, before the one after the next begins. So after a
// crash only the last segments can be torn: those that are longer than their events.
func (s *Stream) recover() error {
	os.Remove(s.spareName())
	os.Remove(s.skipName())
	firsts, err := eventfile.ListSegments(s.dir)
	if err != nil {
		return err
	}
	if s.file, err = eventfile.Open(filepath.Join(s.dir, eventfile.MetaName), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	stored, err := sys.FlushAndDrop(s.file.OS())
	if err != nil {
		return err
	}
	defer stored.Close()
	r := io.ReaderAt(s.file)
	if stored != nil {
		r = stored
	}
	b, err := eventfile.ReadMeta(r)
	if err != nil {
		return metaError(err)
	}
	if err := s.allocateMeta(stored != nil && b.Generation == 0); err != nil {
		return err
	}
	s.failedGenerations = 2 // a reader may have seen a generation that no flush has made durable
	s.state.Store(&b)
	work := recovery{s: s, b: b, firsts: firsts, fresh: -1}
	if err := work.run(); err != nil {
		return err
	}
	list := s.segments()
	b = *s.state.Load()
	if err := s.syncDir(); err != nil { // first: see truncateBack
		return err
	}
	if b.Truncating = false; b.Generation == 0 { // else First stays: segments may be missing, see Check
		b.First = max(b.First, list[0].first)
	}
	if err := s.setBounds(b); err != nil { // always, for readers to list the directory again
		return err
	}
	s.synced.reset(s.next.Load(), b.Truncations)
	return nil
}

// allocateMeta makes both slots blocks, durably, before one of them is valid: then a full disk does not
// keep events from being removed. anew says that the disk has no slot, and memory may: see
// eventfile.OpenStored.
func (s *Stream) allocateMeta(anew bool) error {
	if anew {
		if err := s.file.Truncate(0); err != nil {
			return err
		}
	}
	fi, err := s.file.Stat()
	if err != nil || fi.Size() >= 2*eventfile.SlotSize {
		return err
	}
	if err := eventfile.WriteZeros(s.file, fi.Size(), 2*eventfile.SlotSize); err != nil {
		return err
	}
	return hooks.syncMeta(s.file)
}

// recovery is the work of recover.
type recovery struct {
	s      *Stream
	b      eventfile.Bounds
	firsts []int64 // numbers of the first events of the segments
	fresh  int64   // that of a segment after these that is to be created, or -1
	blank  bool    // fresh is there, without a header
	ends   map[int64]int64
}

func (r *recovery) run() error {
	if err := r.remove(); err != nil {
		return err
	}
	if err := r.verify(); err != nil {
		return err
	}
	if n := len(r.firsts); r.fresh < 0 && n > 0 {
		last := r.firsts[n-1]
		blank, err := blankSegment(eventfile.SegmentName(r.s.dir, last))
		if err != nil {
			return err
		}
		if blank { // no flush has returned since it was created
			r.firsts, r.fresh, r.blank = r.firsts[:n-1], last, true
		}
	}
	if r.fresh < 0 && len(r.firsts) == 0 {
		r.fresh = r.b.First
	}
	if r.fresh < 0 {
		return r.open()
	}
	return r.create(r.fresh)
}

// remove ends what TruncateFront and TruncateBack may have begun.
func (r *recovery) remove() error {
	var keep []int64
	for i, first := range r.firsts {
		whole := i+1 < len(r.firsts) && r.firsts[i+1] <= r.b.First
		if !whole && first < r.b.Limit() {
			keep = append(keep, first)
			continue
		}
		if err := os.Remove(eventfile.SegmentName(r.s.dir, first)); err != nil && !whole {
			return err
		}
	}
	if r.firsts = keep; r.b.Truncating {
		r.fresh = r.b.TruncatedTo
	}
	return nil
}

// verify verifies the segments that may be torn, but for the last.
func (r *recovery) verify() error {
	all := r.firsts
	if r.fresh >= 0 {
		all = append(slices.Clone(all), r.fresh)
	}
	low := len(all) - 1
	for ; low > 0; low-- {
		truncated := r.fresh >= 0 && low == len(all)-1
		closed, err := isClosed(eventfile.SegmentName(r.s.dir, all[low-1]), all[low]-all[low-1])
		if err != nil && !truncated {
			return err
		}
		if closed && !truncated {
			break
		}
	}
	r.ends = map[int64]int64{}
	for i := max(low, 0); i+1 < len(all); i++ {
		end, err := r.makeDurable(all[i], all[i+1]-all[i], r.fresh >= 0 && i == len(all)-2)
		if err != nil {
			return err
		}
		if end == 0 { // torn: what follows was not flushed
			if later, err := r.flushed(all[i+1:]); err != nil || later {
				return cmp.Or(err, r.gap(all[i], all[i+1]))
			}
			if err := r.setAside(r.firsts[min(i+1, len(r.firsts)):]); err != nil {
				return err
			}
			r.firsts, r.fresh = r.firsts[:i+1], -1
			break
		}
		r.ends[all[i]] = end
	}
	return nil
}

// flushed reports whether one of these segments was flushed, and so all before them were: a
// segment is flushed before the one after the next begins, and before the next is closed.
func (r *recovery) flushed(firsts []int64) (bool, error) {
	if len(firsts) != 1 || firsts[0] == r.fresh {
		return len(firsts) > 1, nil
	}
	h, size, err := eventfile.ReadHeader(eventfile.SegmentName(r.s.dir, firsts[0]))
	return !h.Empty() && h.End == size, err
}

// makeDurable flushes a segment of n events, and returns its end, or 0 if it does not have n whole
// events. If truncated is set, TruncateBack may have left more, which are removed.
func (r *recovery) makeDurable(first, n int64, truncated bool) (end int64, err error) {
	name := eventfile.SegmentName(r.s.dir, first)
	end, more, err := wholeEvents(name, n)
	switch {
	case err != nil || end == 0:
		return 0, err
	case more && !truncated:
		return 0, r.s.damaged(name, end)
	}
	if err := eventfile.SetEnd(name, end, n); err != nil {
		return 0, err
	}
	r.s.trace("sync", name)
	// A reader may have any event open that was before WriteOffset once. Those after the end
	// are ones that TruncateBack has removed; without them there is nothing but zeros there, or
	// events whose append has not returned.
	removed, err := eventAt(name, end)
	if err != nil {
		return 0, err
	}
	if !removed {
		err = eventfile.EndFile(name, end)
	}
	return end, err
}

func (s *Stream) damaged(name string, off int64) error {
	return &fs.PathError{Op: "open", Path: name, Err: &CorruptError{off, eventfile.ErrGap}}
}

// gap is the error if a segment does not have the events up to before number next.
func (r *recovery) gap(first, next int64) error {
	name := eventfile.SegmentName(r.s.dir, first)
	if h, size, err := eventfile.ReadHeader(name); err == nil && h.End <= size && first+h.Count < next {
		return missing(name, first+h.Count, next)
	}
	return r.s.damaged(name, 0)
}

// setAside renames segments whose events follow ones that a crash has lost, and removes
// those without events.
func (r *recovery) setAside(firsts []int64) error {
	for _, first := range firsts {
		name := eventfile.SegmentName(r.s.dir, first)
		h, _, err := eventfile.ReadHeader(name)
		if err != nil {
			return err
		}
		if h.Empty() {
			err = os.Remove(name)
		} else {
			saved := eventfile.SavedName(name, 0)
			if err = eventfile.Rename(name, saved); r.s.recovered.SavedAs == "" {
				r.s.recovered.SavedAs = saved
			}
			r.s.recovered.TruncatedBytes += max(h.End-eventfile.HeaderSize, 0)
			r.s.recovered.TruncatedEvents += h.Count
			stats.truncated.Add(uint64(max(h.End-eventfile.HeaderSize, 0)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open opens the last segment for appending.
func (r *recovery) open() error {
	s := r.s
	last := r.firsts[len(r.firsts)-1]
	var x eventfile.Index // filled now: later it would hold appends up
	l, err := openLog(eventfile.SegmentName(s.dir, last), s.logOptions(), &x)
	if err != nil {
		return err
	}
	rec := l.Recovery()
	rec.TruncatedBytes += s.recovered.TruncatedBytes
	rec.TruncatedEvents += s.recovered.TruncatedEvents
	if rec.SavedAs == "" {
		rec.SavedAs = s.recovered.SavedAs
	}
	s.recovered = rec
	if last+l.count < r.b.First { // TruncateFront has removed more than there is
		if err := l.Close(); err != nil {
			return err
		}
		return r.create(r.b.First)
	}
	r.add(r.firsts[:len(r.firsts)-1])
	s.use(l, last)
	s.active.seg.index.Take(&x)
	return nil
}

// create creates a segment to append to.
func (r *recovery) create(first int64) error {
	if r.b.First > first {
		if first = r.b.First; r.blank {
			r.firsts = append(r.firsts, r.fresh)
		}
	}
	if first == r.b.First { // there are no events
		for _, old := range r.firsts {
			os.Remove(eventfile.SegmentName(r.s.dir, old)) // or OpenStream does it later: Windows keeps what a reader has open
		}
		r.firsts = nil
	}
	r.add(r.firsts)
	r.s.recovered.Offset = eventfile.HeaderSize
	return r.s.start(first, r.blank && first == r.fresh)
}

// add adds segments that are not appended to.
func (r *recovery) add(firsts []int64) {
	s := r.s
	s.segmentList.mu.Lock()
	defer s.segmentList.mu.Unlock()
	for _, first := range firsts {
		seg := s.add(first)
		end, ok := r.ends[first]
		if !ok {
			if fi, err := os.Stat(seg.name()); err == nil {
				end = fi.Size()
			}
		}
		seg.bytes.Store(end)
	}
}
