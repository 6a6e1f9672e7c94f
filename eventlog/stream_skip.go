package eventlog

import (
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// skipTo removes all events, and begins again with number first, which is after all that
// there were. It is called with boundsMu and mu held.
//
// What a full disk may refuse comes first. An error after that takes the bounds back.
func (s *Stream) skipTo(first int64) error {
	last, dropped := s.active, s.segments()
	<-last.prevDurable
	err := s.createNext()
	if err != nil {
		s.unfinished = s.resume()
		return err
	}
	old := *s.state.Load()
	b := old
	b.First = first
	s.unfinished = errBegun // Options.Now may panic
	if err = s.setBounds(b); err == nil {
		err = s.startSkip(first)
	}
	if err != nil {
		os.Remove(s.skipName())
		if s.unfinished = s.setBounds(old); s.unfinished == nil { // else OpenStream may remove later events
			s.unfinished = s.resume()
		}
		return err
	}
	s.closeSegment(last)
	s.replace(s.segments()[len(dropped):])
	if s.unfinished = s.syncDir(); s.unfinished != nil {
		return s.unfinished
	}
	if s.unfinished = s.setBounds(b); s.unfinished != nil { // for readers to list the directory again
		return s.unfinished
	}
	s.synced.reset(first, b.Truncations)
	s.jobs.Add(1)
	go func() {
		defer s.jobs.Done()
		s.discard(dropped)
	}()
	return nil
}

const skipName = "skip.tmp" // OpenStream removes it

func (s *Stream) skipName() string { return filepath.Join(s.dir, skipName) }

// createNext is createSkip. On a full disk it may release the spare file, and close the active
// log: after an error, see resume.
func (s *Stream) createNext() error {
	err := s.createSkip()
	if s.releaseSpare(err) {
		err = s.createSkip()
	}
	if sys.IsFull(err) && s.closeSegment(s.active) == nil { // which releases the blocks after its end
		err = s.createSkip()
	}
	return err
}

// createSkip creates the file of the segment that a truncation starts, with the block of its
// header.
func (s *Stream) createSkip() error {
	err := os.WriteFile(s.skipName(), make([]byte, eventfile.HeaderSize), 0o666)
	if err != nil {
		os.Remove(s.skipName())
	}
	s.trace("create", s.skipName())
	return err
}

// startSkip makes the file of createSkip the active segment.
func (s *Stream) startSkip(first int64) error {
	name := eventfile.SegmentName(s.dir, first)
	if err := eventfile.Rename(s.skipName(), name); err != nil {
		return err
	}
	s.trace("rename", name)
	err := s.start(first, true)
	if err != nil {
		os.Remove(name)
	}
	return err
}

// resume opens the log of the active segment again if it was closed.
func (s *Stream) resume() error {
	a := s.active
	select {
	case <-a.done:
	default:
		return nil
	}
	if a.err != nil {
		return a.err
	}
	l, err := Open(a.seg.name(), s.logOptions())
	if err == nil {
		l.clock = s.clock
		s.active = newActive(l, a.seg)
	}
	return err
}
