package eventlog

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// recover makes the directory a stream, and opens its last segment.
//
// A segment is closed, and so durable, before the one after the next begins. So after a
// crash only the last segments can be torn: those that are longer than their events.
func (s *Stream) recover() error {
	logdisk.Remove(s.spareName())
	firsts, err := eventfile.ListSegments(s.dir)
	if err != nil {
		return err
	}
	if s.file, err = eventfile.Open(filepath.Join(s.dir, eventfile.MetaName), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	b, err := eventfile.ReadMeta(s.file)
	if err != nil {
		return metaError(err)
	}
	// Readers may have seen bounds that no flush has made durable. They are from now on: those that the disk has instead
	// would not tell readers of another truncation.
	if b.Generation == 0 {
		err = s.allocateMeta()
	} else {
		err = writeMeta(s.file, b)
	}
	if err != nil {
		return err
	}
	// They may also have seen generations that the system has forgotten since: 30 changes that fail are more than a
	// writer makes before it ends. Even, for the other slot.
	s.failedGenerations = 64
	s.state.Store(&b)
	if b.Truncating { // a writer may have ended that before, for readers, but not durably: this is another time
		b.Truncations++
		if err := s.setBounds(b); err != nil {
			return err
		}
		b = *s.state.Load()
	}
	work := recovery{s: s, b: b, firsts: firsts, fresh: -1}
	if err := work.run(); err != nil {
		return err
	}
	list := s.segments()
	b = *s.state.Load()
	if err := s.syncDir(); err != nil { // first: see truncateBack
		return err
	}
	if b.Truncating || work.tookBack || work.killed { // again: a reader may have listed files since that are gone now
		b.Truncations++
	}
	if work.killed && !work.tookBack {
		b.TruncatedTo = s.next.Load()
	}
	if b.Truncating = false; b.Generation == 0 { // else First stays: segments may be missing, see Check
		b.First = max(b.First, nextFrom(list, -1, s.next.Load()))
	}
	if err := s.setBounds(b); err != nil { // always, for readers to list the directory again
		return err
	}
	s.active.truncations = b.Truncations
	s.synced.reset(s.next.Load(), b.Truncations)
	return nil
}

// allocateMeta makes both slots blocks, durably, before one of them is valid: then a full disk does not
// keep events from being removed. There may be zeros without blocks, since a flush has failed: see eventfile.OpenStored.
func (s *Stream) allocateMeta() error {
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	if err := eventfile.WriteZeros(s.file, 0, 2*eventfile.SlotSize); err != nil {
		return err
	}
	return s.file.FlushData()
}

// recovery is the work of recover.
type recovery struct {
	s      *Stream
	b      eventfile.Bounds
	firsts []int64 // numbers of the first events of the segments
	fresh  int64   // that of a segment after these that is to be created, or -1

	tookBack bool // readers were told
	killed   bool // perhaps a writer was killed after it told them, and before all was gone
}

func (r *recovery) run() error {
	if err := r.remove(); err != nil {
		return err
	}
	i := len(r.firsts)
	for ; i > 0; i-- { // to the last segment that was closed with all its events
		n, name := r.count(i-1), r.name(i-1)
		if n < 0 || r.b.Truncating && i == len(r.firsts) {
			continue
		}
		st, err := eventfile.ReadState(name)
		if err == nil && st.Closed && st.Count > n { // one with less may be as it was when the stream was closed before
			err = r.s.damaged(name, st.End)
		}
		if err != nil {
			return err
		}
		if st.Closed && st.Count == n {
			break
		}
	}
	if err := r.s.syncDir(); err != nil { // first: a segment that is marked closed has a durable name
		return err
	}
	for ; i < len(r.firsts); i++ {
		if err := r.segment(i); err != nil {
			return err
		}
	}
	if r.s.active != nil {
		return nil
	}
	if r.fresh < 0 {
		r.fresh = r.b.First
	}
	return r.create(r.fresh)
}

func (r *recovery) name(i int) string { return eventfile.SegmentName(r.s.dir, r.firsts[i]) }

// count returns how many events segment i has, or -1 if nothing tells.
func (r *recovery) count(i int) int64 {
	switch {
	case i+1 < len(r.firsts):
		return r.firsts[i+1] - r.firsts[i]
	case r.fresh >= 0:
		return r.fresh - r.firsts[i]
	}
	return -1
}

// segment recovers segment i: it ends it if it has all its events, and else opens it for appending.
func (r *recovery) segment(i int) error {
	s, first, n, name := r.s, r.firsts[i], r.count(i), r.name(i)
	l, err := openLocked(name, s.logOptions(), 0)
	if err != nil {
		return err
	}
	defer func() {
		if s.active == nil {
			l.release()
		}
	}()
	var x eventfile.Index // filled now: later it would hold appends up
	rules := eventfile.Rules{Blank: true, Lengths: []int64{s.o.SegmentSize}, Most: max(n, 0), Index: &x}
	if n < 0 {
		rules.Verify = l.o.Verify
	}
	f, err := l.examine(rules)
	if err != nil {
		return l.fail("open", err)
	}
	if f.Count == n {
		switch {
		case i+1 == len(r.firsts): // TruncateBack may have left more
			err = eventfile.SetEnd(name, f.End, n)
		case f.End < f.Header.End:
			err = s.damaged(name, f.End)
		default:
			if err = l.recover(f, nil); err == nil {
				l.startFlusher()
				err = l.Close()
			}
		}
		s.trace("sync", name)
		return err
	}
	torn := r.firsts[i+1:] // what follows was not flushed
	if later, err := r.flushed(torn); err != nil || later {
		return cmp.Or(err, r.gap(first, first+n))
	}
	if err := f.damage(); err != nil {
		return l.fail("open", err)
	}
	if n >= 0 || f.seen.End > f.End {
		if err := r.takeBack(first + f.Count); err != nil {
			return err
		}
	}
	if n >= 0 {
		if err := r.setAside(torn); err != nil {
			return err
		}
		if err := s.syncDir(); err != nil { // before the file in front of them may go
			return err
		}
		r.firsts, r.fresh = r.firsts[:i+1], -1
	}
	return r.open(l, f, first, &x)
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
		if err := logdisk.Remove(eventfile.SegmentName(r.s.dir, first)); err != nil && !whole {
			return err
		}
	}
	r.firsts = keep
	truncated := r.b.Truncating
	if n := len(keep); n > 0 && r.b.Truncations > 0 && keep[n-1] <= r.b.TruncatedTo && !truncated {
		st, err := eventfile.ReadState(eventfile.SegmentName(r.s.dir, keep[n-1]))
		if err != nil {
			return err
		}
		// Nothing was appended since: see finishBack.
		truncated = keep[n-1] < r.b.TruncatedTo && keep[n-1]+st.Count == r.b.TruncatedTo && st.Size > st.End+eventfile.MarkSize
		r.killed = !st.Closed
	}
	if truncated {
		r.fresh = r.b.TruncatedTo
	}
	return nil
}

// flushed reports whether one of these segments was flushed, and so all before them were: a
// segment is flushed before the one after the next begins, and before the next is closed.
func (r *recovery) flushed(firsts []int64) (bool, error) {
	if len(firsts) != 1 {
		return len(firsts) > 1, nil
	}
	st, err := eventfile.ReadState(eventfile.SegmentName(r.s.dir, firsts[0]))
	return !st.Empty() && st.Closed, err
}

// takeBack tells readers, before any file changes, that events from number next on may be gone which they have
// seen: a flush has failed.
func (r *recovery) takeBack(next int64) error {
	b := *r.s.state.Load()
	if b.Truncations++; b.Truncating {
		b.Truncations++ // TruncatedTo stays: two calls tell readers that they do not know where
	} else {
		b.TruncatedTo = next
	}
	r.tookBack = true
	return r.s.setBounds(b)
}

// damaged is the error if the named segment has more events than there should be.
func (s *Stream) damaged(name string, off int64) error {
	return &fs.PathError{Op: "open", Path: name, Err: &CorruptError{off, eventfile.ErrGap}}
}

// gap is the error if a segment does not have the events up to before number next.
func (r *recovery) gap(first, next int64) error {
	name := eventfile.SegmentName(r.s.dir, first)
	if st, err := eventfile.ReadState(name); err == nil && st.End <= st.Size && first+st.Count < next {
		return missing(name, first+st.Count, next)
	}
	return r.s.damaged(name, 0)
}

// setAside renames segments whose events follow ones that a crash has lost, and removes
// those without events.
func (r *recovery) setAside(firsts []int64) error {
	for _, first := range firsts {
		name := eventfile.SegmentName(r.s.dir, first)
		h, err := eventfile.ReadState(name)
		if err != nil {
			return err
		}
		if h.Empty() {
			err = logdisk.Remove(name)
		} else {
			saved := eventfile.SavedName(name, 0)
			if err = logdisk.Rename(name, saved); r.s.recovered.SavedAs == "" {
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

// open makes the last segment the active one. If that has no events, the next append begins it: the disk may be full.
func (r *recovery) open(l *Log, f found, first int64, x *eventfile.Index) error {
	s := r.s
	if f.Empty && first >= r.b.First {
		if f.stored { // else what is written may not be durable: see eventfile.OpenStored
			if err := l.f.Truncate(0); err != nil {
				return err
			}
		}
		r.add(r.firsts[:len(r.firsts)-1])
		s.recovered.Offset = eventfile.HeaderSize
		l.release()
		s.end(first)
		s.active.ended = true
		return nil
	}
	if err := l.recover(f, nil); err != nil {
		return l.fail("open", err)
	}
	l.startFlusher()
	rec, aside := l.recovered, s.recovered
	s.recovered = Recovery{rec.Events, rec.Offset, rec.TruncatedBytes + aside.TruncatedBytes,
		rec.TruncatedEvents + aside.TruncatedEvents, cmp.Or(rec.SavedAs, aside.SavedAs)}
	if first+l.count < r.b.First { // TruncateFront has removed more than there is
		if err := l.Close(); err != nil {
			return err
		}
		return r.create(r.b.First)
	}
	r.add(r.firsts[:len(r.firsts)-1])
	s.use(l, first, nil)
	s.active.seg.index.Take(x)
	return nil
}

// create creates a segment to append to.
func (r *recovery) create(first int64) error {
	first = max(first, r.b.First)
	if first == r.b.First { // there are no events
		for i := range r.firsts {
			logdisk.Remove(r.name(i)) // or OpenStream does it later: Windows keeps what a reader has open
		}
		r.firsts = nil
	}
	r.add(r.firsts)
	r.s.recovered.Offset = eventfile.HeaderSize
	return r.s.start(first, nil)
}

// add adds segments that are not appended to.
func (r *recovery) add(firsts []int64) {
	s := r.s
	s.segmentList.mu.Lock()
	defer s.segmentList.mu.Unlock()
	for _, first := range firsts {
		seg := s.add(first)
		if fi, err := logdisk.Stat(seg.name()); err == nil { // it was closed: to read the mark of each takes time
			seg.bytes.Store(max(fi.Size()-eventfile.MarkSize, eventfile.HeaderSize))
		}
	}
}
