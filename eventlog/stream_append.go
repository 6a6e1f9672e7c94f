package eventlog

import (
	"io/fs"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Append appends an event with the data p, and returns its sequence number. For the rest
// see [Log.Append]. [ErrFull] is that of MaxSize in [StreamOptions].
func (s *Stream) Append(p []byte) (seq int64, err error) {
	seq, at, err := s.append(p, false)
	if err == nil {
		s.flushDue(at)
	}
	return seq, err
}

// AppendSync is [Stream.Append], and returns once the event is durable. Calls from several
// goroutines share flushes.
//
// An error with Op "sync" is one of the flush: then the event is in the stream.
func (s *Stream) AppendSync(p []byte) (seq int64, err error) {
	seq, at, err := s.append(p, true)
	if err != nil {
		return 0, err
	}
	return seq, s.syncMark(at)
}

// mark is a place in a stream.
type mark struct {
	a           *active
	end         int64 // offset in its log
	next        int64 // sequence number
	truncations int64 // calls of TruncateBack before
}

func (s *Stream) append(p []byte, sync bool) (seq int64, at mark, err error) {
	if int64(len(p)) > eventfile.MaxData {
		return 0, at, s.fail("append", fs.ErrInvalid)
	}
	e := eventfile.Entry{Time: s.clock.read()}
	if !s.mu.TryLock() {
		e = eventfile.NewEntry(e.Time, p) // see Log.append
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if err := s.need(eventfile.EntrySize+int64(len(p)), 1); err != nil {
		return 0, at, s.fail("append", err)
	}
	a := s.active
	off, err := a.log.append(p, &e, sync)
	if s.releaseSpare(err) {
		off, err = a.log.append(p, &e, sync)
	}
	if err != nil {
		return 0, at, err
	}
	seq = a.next
	s.appended(off, len(p))
	return seq, s.mark(), nil
}

// AppendBatch appends an event for each of ps, and returns the sequence number of the
// first. All of them are in one segment. For the rest see [Log.AppendBatch].
func (s *Stream) AppendBatch(ps ...[]byte) (first int64, err error) {
	first, at, err := s.appendBatch(ps, false)
	if err == nil {
		s.flushDue(at)
	}
	return first, err
}

// AppendBatchSync is [Stream.AppendBatch], and returns once the events are durable. Calls from
// several goroutines share flushes. Without ps it is [Stream.Sync].
//
// An error with Op "sync" is one of the flush: then the events are in the stream.
func (s *Stream) AppendBatchSync(ps ...[]byte) (first int64, err error) {
	first, at, err := s.appendBatch(ps, true)
	if err != nil {
		return 0, err
	}
	return first, s.syncMark(at)
}

func (s *Stream) appendBatch(ps [][]byte, sync bool) (first int64, at mark, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := int64(0)
	for _, p := range ps {
		total += eventfile.EntrySize + int64(len(p))
	}
	if err := s.need(total, int64(len(ps))); err != nil {
		return 0, at, s.fail("append", err)
	}
	a := s.active
	off, err := a.log.appendBatch(ps, sync)
	if s.releaseSpare(err) {
		off, err = a.log.appendBatch(ps, sync)
	}
	if err != nil {
		return 0, at, err
	}
	first = a.next
	for _, p := range ps {
		s.appended(off, len(p))
		off += eventfile.EntrySize + int64(len(p))
	}
	return first, s.mark(), nil
}

// appended notes an event that was appended. It is called with mu held.
func (s *Stream) appended(off int64, size int) {
	a := s.active
	a.end = off + eventfile.EntrySize + int64(size)
	a.seg.index.Add(a.next-a.seg.first, off, a.end)
	a.next++
	s.next.Store(a.next)
}

// mark returns the present end. It is called with mu held.
func (s *Stream) mark() mark {
	return mark{s.active, s.active.end, s.active.next, s.state.Load().Truncations}
}
