package eventlog

import (
	"cmp"
	"io/fs"
	"os"
	"slices"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// TruncateFront removes all events before number first, durably. It removes the files of whole
// segments, in the background. If first is not after First, it does nothing. If first is after
// Next, it removes all events, and the next event has that number.
//
// An error is a *[fs.PathError] with Op "truncate": TruncateFront fails with [fs.ErrInvalid]
// for a negative number or one above 1<<62, [os.ErrClosed], or the system's error. If the disk
// fails, all appends and truncations may return the error until the stream is opened again. A
// full disk does not refuse it, except on a file system that copies a block to write it (btrfs).
func (s *Stream) TruncateFront(first int64) error {
	if first < 0 || first > eventfile.MaxFirst {
		return s.fail("truncate", fs.ErrInvalid)
	}
	s.boundsMu.Lock()
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	if err := s.checkWritable(); err != nil {
		s.mu.Unlock()
		return s.fail("truncate", err)
	}
	if first > s.active.next {
		defer s.mu.Unlock()
		if err := s.skipTo(first); err != nil {
			return s.fail("truncate", err)
		}
		return nil
	}
	s.jobs.Add()
	s.mu.Unlock()
	dropped, err := s.raiseFirst(first)
	logdisk.Go(func() {
		defer s.jobs.Done()
		s.discard(dropped)
	})
	if err != nil {
		return s.fail("truncate", err)
	}
	return nil
}

// skipTo removes all events. The next one has number first, which is after all that there were. It is called with
// boundsMu and mu held.
func (s *Stream) skipTo(first int64) error {
	wait(s.active.prevDurable)
	if err := s.failed(); err != nil {
		return err
	}
	old, dropped := *s.state.Load(), s.segments()
	b := old
	b.First = first
	if err := s.setBounds(b); err != nil {
		s.unfinished = s.setBounds(old) // else OpenStream may remove later events
		return err
	}
	s.closeSegment(s.active)
	s.unstart() // an error leaves a file without events, which OpenStream removes
	s.replace(nil)
	s.end(first)
	s.jobs.Go(func() { s.discard(dropped) })
	return nil
}

// checkWritable returns why the stream cannot be changed. It is called with mu held.
func (s *Stream) checkWritable() error {
	switch {
	case s.closing:
		return os.ErrClosed
	case s.unfinished != nil:
		return s.unfinished
	}
	return s.here()
}

// setBounds makes b the bounds, durably, with the next generation. It is called with
// boundsMu held.
func (s *Stream) setBounds(b eventfile.Bounds) error {
	b.Generation = s.state.Load().Generation + 1 + s.failedGenerations
	if err := writeMeta(s.file, b); err != nil {
		// b may be in the file. The next change goes to the same slot, and has another
		// generation for readers.
		s.failedGenerations += 2
		return err
	}
	s.failedGenerations = 0
	s.trace("sync", s.file.Name())
	s.state.Store(&b)
	return nil
}

// writeMeta makes b durable in f.
func writeMeta(f logdisk.File, b eventfile.Bounds) error {
	if _, err := f.WriteAt(b.Bytes(), b.Slot()); err != nil {
		return err
	}
	return f.FlushData()
}

// raiseFirst makes first the number of the first event, and returns the segments that
// have no others. It is called with boundsMu held.
func (s *Stream) raiseFirst(first int64) (dropped []*segment, err error) {
	b := *s.state.Load()
	if first <= b.First {
		return nil, nil
	}
	b.First = first
	// This comes before a file is removed: after a crash some of the files may be back.
	if err := s.setBounds(b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.segments()
	i := max(position(list, first), 0)
	s.replace(list[i:])
	s.resize()
	return list[:i], nil
}

// TruncateBack removes all events from number next on, durably. The next event has that
// number. If next is [Stream.Next], it does nothing. The space of events in a segment that is
// left is released with the segment.
//
// An error is a *[fs.PathError] with Op "truncate": TruncateBack fails with [fs.ErrInvalid]
// for a number before First or after Next, [os.ErrClosed], or the system's error. If the
// removal had begun, all appends and truncations return the error until the stream is opened
// again, which completes it. On Windows this happens if a StreamReader has a segment open that
// is removed: close it before.
func (s *Stream) TruncateBack(next int64) error {
	s.boundsMu.Lock()
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.checkWritable()
	switch {
	case err != nil:
	case next == s.active.next:
		return nil
	case next < s.First() || next > s.active.next:
		err = fs.ErrInvalid
	default:
		err = s.truncateBack(next)
	}
	if err != nil {
		return s.fail("truncate", err)
	}
	return nil
}

// failed returns the first error of a flush. It is called with mu held.
func (s *Stream) failed() error {
	err := s.synced.failed()
	if a := s.active; err == nil && a.log != nil {
		err = a.log.synced.failed()
	}
	return err
}

// truncateBack is TruncateBack. It first says in meta what is to be done, so that
// OpenStream can do it again. A full disk refuses none of it, but for one with btrfs.
//
// No byte of an event changes, since a reader may have it in a loop: the segment ends before
// next, and the next append begins a new one.
func (s *Stream) truncateBack(next int64) error {
	wait(s.active.prevDurable)
	if err := s.failed(); err != nil { // else meta would say what OpenStream cannot do
		return err
	}
	list := s.segments()
	left := position(list, next) + 1 // so many segments stay
	if list[left-1].first == next {
		left--
	}
	end, err := int64(0), error(nil) // of the last segment that stays
	if left > 0 {
		if end, err = list[left-1].offsetOf(next); err != nil {
			return err
		}
	}
	b, durable := *s.state.Load(), s.Durable()
	b.TruncatedTo, b.Truncations, b.Truncating = next, b.Truncations+1, true
	if s.unfinished = s.setBounds(b); s.unfinished != nil { // else OpenStream may remove later events
		return s.unfinished
	}
	s.next.Store(next)
	s.synced.reset(min(next, durable), b.Truncations)
	held, err := s.finishBack(next, end, list[:left], list[left:])
	defer s.closeLater(held) // flushes of meta would wait for it
	if s.unfinished = err; err != nil {
		return err
	}
	b.Truncating = false
	if s.unfinished = s.setBounds(b); s.unfinished == nil {
		s.end(next)
	}
	return s.unfinished
}

// finishBack removes segments and events. It returns files for closeLater.
func (s *Stream) finishBack(next, end int64, left, removed []*segment) (held []logdisk.File, err error) {
	if err := cmp.Or(s.closeSegment(s.active), s.unstart()); err != nil {
		return nil, err
	}
	s.replace(left)
	for _, seg := range removed { // all, also if one cannot be removed
		seg.drop()
	}
	for _, seg := range slices.Backward(removed) {
		if trims { // the system removes files that are open
			if f, err := logdisk.OpenFile(seg.name(), os.O_RDONLY, 0); err == nil {
				held = append(held, f)
			}
		}
		if err := logdisk.Remove(seg.name()); err != nil {
			return held, err
		}
		s.trace("remove", seg.name())
	}
	if len(left) > 0 {
		// The file keeps its length and its bytes: to truncate it would make zeros of an event that a reader has in a
		// loop. Its blocks are released with the segment.
		seg := left[len(left)-1]
		if err := eventfile.SetEnd(seg.name(), end, next-seg.first); err != nil {
			return held, err
		}
		s.trace("sync", seg.name())
		seg.index.Truncate(next - seg.first)
	}
	return held, s.syncDir()
}

// closeLater closes files that were removed, in the background. That releases their blocks,
// which takes 10 to 25 ms for 64 MiB (Linux 6.18, ext4). It is called with mu held.
func (s *Stream) closeLater(files []logdisk.File) {
	s.jobs.Go(func() {
		for _, f := range files {
			f.Close()
		}
	})
}
