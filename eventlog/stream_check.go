package eventlog

import (
	"fmt"
	"io/fs"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Check looks for segments that are missing, or do not have the events between their number and
// the next one's. It reads the header of each segment that is not appended to, and no events.
// OpenStream does not do that, so that the events that are left can be read.
//
// An error is a *[fs.PathError] with Op "check": [os.ErrClosed], the system's, or a
// *[CorruptError] that tells the first events that are missing. Its path is that of the segment
// before them, or, at the beginning, of the one that is missing.
func (s *Stream) Check() error {
	s.boundsMu.Lock() // no segment is removed meanwhile
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	err, list, prevDurable := s.checkWritable(), s.segments(), s.active.prevDurable
	s.mu.Unlock()
	if err != nil {
		return s.fail("check", err)
	}
	<-prevDurable
	next := s.state.Load().First
	name := eventfile.SegmentName(s.dir, next)
	for i, seg := range list {
		if seg.first > next {
			return s.fail("check", missing(name, next, seg.first))
		}
		if i == len(list)-1 {
			break
		}
		name = seg.name()
		h, size, err := eventfile.ReadHeader(name)
		if next = seg.first + h.Count; err == nil && (h.End > size || next > list[i+1].first) {
			err = s.damaged(name, min(h.End, size))
		}
		if err != nil {
			return s.fail("check", err)
		}
	}
	return nil
}

// missing is the error if the named segment lacks the events from number from up to before to.
func missing(name string, from, to int64) error {
	err := fmt.Errorf("events %d to %d: %w", from, to-1, eventfile.ErrGap)
	return &fs.PathError{Op: "open", Path: name, Err: &CorruptError{0, err}}
}
