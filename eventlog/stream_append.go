package eventlog

import (
	"go.dw1.io/mmapfile/internal/eventfile"
)

// Append is like [Log.Append], but returns the sequence number of the event. It fails with
// [ErrFull] if the stream would exceed MaxSize of [StreamOptions].
func (s *Stream) Append(p []byte) (seq int64, err error) {
	seq, at, err := s.append([][]byte{p}, false)
	if err == nil {
		s.flushDue(at)
	}
	return seq, err
}

// AppendSync is like [Stream.Append], but returns once the event is durable. Calls from
// several goroutines share flushes.
//
// If the error has Op "sync", the flush failed, and the event is in the stream.
func (s *Stream) AppendSync(p []byte) (seq int64, err error) {
	seq, at, err := s.append([][]byte{p}, true)
	if err != nil {
		return 0, err
	}
	return seq, s.syncMark(at)
}

// mark is a place in a stream.
type mark struct {
	a    *active
	end  int64 // offset in its log
	next int64 // sequence number
}

func (s *Stream) append(ps [][]byte, sync bool) (first int64, at mark, err error) {
	now, sum := s.clock.read(), uint32(0)
	total, err := sizeOf(ps)
	if err != nil {
		return 0, at, s.fail("append", err)
	}
	if !s.mu.TryLock() {
		if len(ps) == 1 {
			sum = eventfile.NewEntry(now, ps[0]).Sum // see Log.append
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if err := s.need(total, int64(len(ps))); err != nil {
		return 0, at, s.fail("append", err)
	}
	a := s.active
	off, err := a.log.append(now, sum, ps, sync)
	if s.releaseSpare(err) {
		off, err = a.log.append(now, sum, ps, sync)
	}
	if err != nil {
		return 0, at, err
	}
	first = a.next
	for _, p := range ps {
		a.end = off + eventfile.EntrySize + int64(len(p))
		a.seg.index.Add(a.next-a.seg.first, off, a.end)
		a.next++
		off = a.end
	}
	s.next.Store(a.next)
	return first, s.mark(), nil
}

// AppendBatch is like [Log.AppendBatch], but returns the sequence number of the first event.
// All of them are in one segment.
func (s *Stream) AppendBatch(ps ...[]byte) (first int64, err error) {
	first, at, err := s.append(ps, false)
	if err == nil {
		s.flushDue(at)
	}
	return first, err
}

// AppendBatchSync is like [Stream.AppendBatch], but returns once the events are durable. Calls
// from several goroutines share flushes. Without ps it is like [Stream.Sync].
//
// If the error has Op "sync", the flush failed, and the events are in the stream.
func (s *Stream) AppendBatchSync(ps ...[]byte) (first int64, err error) {
	first, at, err := s.append(ps, true)
	if err != nil {
		return 0, err
	}
	return first, s.syncMark(at)
}

// mark returns the present end. It is called with mu held.
func (s *Stream) mark() mark {
	return mark{s.active, s.active.end, s.active.next}
}
