package eventlog

import (
	"fmt"
	"io/fs"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Check looks for segments that are missing, or that do not have the events between their
// number and the next one's. It reads the header of each segment that is not appended to, and
// no events. OpenStream does not do that, so that the events that are left can be read.
//
// An error is a *[fs.PathError] with Op "check": [os.ErrClosed], the system's error, or a
// *[CorruptError] that names the first missing events. Its path is that of the segment before
// them, or, at the beginning, of the one that is missing.
func (s *Stream) Check() error {
	s.boundsMu.Lock() // no segment is removed meanwhile
	defer s.boundsMu.Unlock()
	list, at, err := s.settled()
	if err != nil {
		return s.fail("check", err)
	}
	next := s.state.Load().First
	name := eventfile.SegmentName(s.dir, next)
	for i, seg := range list {
		if seg.first > next {
			return s.fail("check", missing(name, next, seg.first))
		}
		if at.a.log != nil && i == len(list)-1 {
			break
		}
		name = seg.name()
		st, err := eventfile.ReadState(name)
		if next = seg.first + st.Count; err == nil && (st.End > st.Size || next > nextFrom(list, i, at.next)) {
			err = s.damaged(name, min(st.End, st.Size))
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
