package eventlog

import (
	"math"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// retains reports whether retain may remove segments.
func (s *Stream) retains() bool { return s.o.RetainBytes > 0 || s.o.RetainAge > 0 }

// retain removes the segments that StreamOptions say.
func (s *Stream) retain() error {
	if !s.retains() {
		return nil
	}
	s.boundsMu.Lock()
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	list, unfinished := s.segments(), s.unfinished
	total := s.size()
	s.mu.Unlock()
	if unfinished != nil {
		return nil
	}
	old, i := s.tooOld(list), 0
	for ; i < len(list)-1; i++ {
		if size := s.o.RetainBytes; i >= old && (size == 0 || total <= size) {
			break
		}
		total -= list[i].bytes.Load()
	}
	if i == 0 {
		return nil
	}
	dropped, err := s.raiseFirst(list[i].first)
	s.discard(dropped)
	return err
}

// tooOld returns how many segments RetainAge removes: those with a later one that was begun longer ago. A
// start after now, or before that of a segment in front, is of a clock that was wrong, and tells nothing. So is one before
// that of the segment in front of it, whatever that has.
func (s *Stream) tooOld(list []*segment) (n int) {
	if s.o.RetainAge == 0 {
		return 0
	}
	latest, prev := int64(math.MinInt64), int64(math.MinInt64)
	for i, seg := range list {
		start, err := seg.started()
		if err != nil {
			continue
		}
		now := newClock(s.o.Now).read()
		back := start < prev
		if prev = start; back || start > now || start < latest {
			continue
		}
		latest = start
		if i > 0 && uint64(now)-uint64(start) <= uint64(s.o.RetainAge) { // the difference may be above MaxInt64
			break
		}
		n = i
	}
	return n
}

// discard removes the files of segments that are not in the list any more. A reader that has
// one open keeps its events: nothing writes to the file again. What the system does not remove
// (Windows, while a reader has it open) is removed by OpenStream.
func (s *Stream) discard(dropped []*segment) {
	// The log of the last of them may be about to be closed: Windows removes no open file.
	s.mu.Lock()
	prevDurable := s.active.prevDurable
	s.mu.Unlock()
	wait(prevDurable)
	for _, seg := range dropped {
		seg.drop()
		if s.here() == nil {
			logdisk.Remove(seg.name())
		}
		s.trace("remove", seg.name())
	}
}
