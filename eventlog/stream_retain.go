package eventlog

import (
	"os"
	"time"
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
	i := 0
	for ; i < len(list)-1; i++ {
		if size := s.o.RetainBytes; size == 0 || total <= size {
			if age := s.o.RetainAge; age == 0 || !s.older(list[i+1], age) {
				break
			}
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

// older reports whether a segment was begun longer than age ago.
func (s *Stream) older(seg *segment, age time.Duration) bool {
	start, err := seg.started()
	now := newClock(s.o.Now).read()
	return err == nil && start < now && uint64(now)-uint64(start) > uint64(age) // the difference may be above MaxInt64
}

// discard removes the files of segments that are not in the list any more. A reader that has
// one open keeps its events: nothing writes to the file again. What the system does not remove
// (Windows, while a reader has it open) is removed by OpenStream.
func (s *Stream) discard(dropped []*segment) {
	// The log of the last of them may be about to be closed: Windows removes no open file.
	s.mu.Lock()
	prevDurable := s.active.prevDurable
	s.mu.Unlock()
	<-prevDurable
	for _, seg := range dropped {
		seg.drop()
		if s.here() == nil {
			os.Remove(seg.name())
		}
		s.trace("remove", seg.name())
	}
}
