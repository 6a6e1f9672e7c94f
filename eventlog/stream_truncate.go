package eventlog

import (
	"io/fs"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// maxSeq is the largest number that TruncateFront accepts. It leaves room to count up.
const maxSeq = 1 << 62

// TruncateFront removes all events before number first, durably. It removes the files of
// whole segments, in the background. A first up to First does nothing. A first after Next
// removes all events, and the next one has that number.
//
// An error is a *[fs.PathError] with Op "truncate": [fs.ErrInvalid] for a negative
// number or one above 1<<62, [os.ErrClosed], or the system's. A first after Next needs a
// block for the next segment. If the disk is full, the stream stays as it was. If the disk
// fails, all appends and truncations may return the error until the stream is opened again.
func (s *Stream) TruncateFront(first int64) error {
	if first < 0 || first > maxSeq {
		return s.fail("truncate", fs.ErrInvalid)
	}
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	s.mu.Lock()
	if err := s.usable(); err != nil {
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
	s.jobs.Add(1)
	s.mu.Unlock()
	dropped, err := s.raiseFirst(first)
	go func() {
		defer s.jobs.Done()
		s.discard(dropped)
	}()
	if err != nil {
		return s.fail("truncate", err)
	}
	return nil
}

// usable returns why the stream cannot be changed. It is called with mu held.
func (s *Stream) usable() error {
	if s.gone {
		return os.ErrClosed
	}
	return s.broken
}

// setBounds makes b the bounds, durably, with the next generation. It is called with
// cutMu held.
func (s *Stream) setBounds(b bounds) error {
	b.generation = s.state.Load().generation + 1 + s.unsure
	if err := writeMeta(s.file, b); err != nil {
		// b may be in the file. The next change goes to the same slot, and has another
		// generation for readers.
		s.unsure += 2
		return err
	}
	s.unsure = 0
	s.o.trace("sync", s.file.Name())
	s.state.Store(&b)
	return nil
}

// raiseFirst makes first the number of the first event, and returns the segments that
// have no others. It is called with cutMu held.
func (s *Stream) raiseFirst(first int64) (dropped []*segment, err error) {
	b := *s.state.Load()
	if first <= b.first {
		return nil, nil
	}
	b.first = first
	// This comes before a file is removed: after a crash some of the files may be back.
	if err := s.setBounds(b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.segments()
	i := max(position(list, first), 0)
	s.setList(list[i:])
	return list[:i], nil
}

func (s *Stream) setList(list []*segment) {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	list = slices.Clone(list)
	s.list.Store(&list)
}

// set makes next what is durable.
func (d *durability) set(next, backs int64) {
	d.mu.Lock()
	d.next, d.backs = next, backs
	d.mu.Unlock()
}

// TruncateBack removes all events from number next on, durably. The next event has that
// number. A next of [Stream.Next] does nothing.
//
// An error is a *[fs.PathError] with Op "truncate": [fs.ErrInvalid] for a number before First
// or after Next, [os.ErrClosed], or the system's. If the removal had begun, all appends and
// truncations return the error until the stream is opened again, which completes it. On
// Windows that is so if a StreamReader has a segment open that is removed: close it before.
func (s *Stream) TruncateBack(next int64) error {
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable()
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

// truncateBack is TruncateBack. It first says in meta what is to be done, so that
// OpenStream can do it again.
//
// No byte of an event changes, since a reader may have it in a loop: the segment ends before
// next, and a new one begins there.
func (s *Stream) truncateBack(next int64) error {
	<-s.active.before
	b := *s.state.Load()
	b.back, b.backs, b.cutting = next, b.backs+1, true
	if s.broken = s.setBounds(b); s.broken != nil { // else OpenStream may remove later events
		return s.broken
	}
	s.next.Store(next)
	s.synced.set(min(next, s.durableNext()), b.backs)
	if s.broken = s.finishBack(next); s.broken != nil {
		return s.broken
	}
	b.cutting = false
	s.broken = s.setBounds(b)
	return s.broken
}

func (s *Stream) finishBack(next int64) error {
	if err := s.end(s.active); err != nil {
		return err
	}
	list := s.segments()
	i := position(list, next)
	if list[i].first == next {
		i--
	}
	removed := list[i+1:]
	s.setList(list[:i+1])
	// Releasing the blocks of 64 MiB takes 10 to 25 ms (Linux 6.18, ext4), so it is done in
	// the background. A removed file releases them when its last descriptor is closed.
	var held []*os.File
	s.jobs.Add(1)
	defer func() { go s.releaseLater(list[:i+1], held) }()
	for _, seg := range slices.Backward(removed) {
		if trims { // the system removes files that are open
			if f, err := os.Open(seg.name()); err == nil {
				held = append(held, f)
			}
		}
		seg.drop()
		if err := os.Remove(seg.name()); err != nil {
			return err
		}
		s.o.trace("remove", seg.name())
	}
	if i >= 0 {
		if err := s.cutSegment(list[i], next); err != nil {
			return err
		}
	}
	if s.start(next, false) != nil {
		// A full disk may have no other space.
		s.releaseSpare()
		s.release(list[:i+1], held)
		held = nil
		if err := s.start(next, false); err != nil {
			return err
		}
	}
	return s.syncDir()
}

// cutSegment removes the events of a closed segment from number next on.
func (s *Stream) cutSegment(seg *segment, next int64) error {
	f, err := seg.acquire()
	if err != nil {
		return err
	}
	off := int64(0)
	err = f.inside("truncate", func() (err error) {
		off, _, err = seg.locate(f, next)
		return err
	})
	seg.release()
	if err != nil {
		return f.damage(off, err)
	}
	if err := setEnd(seg.name(), off, next-seg.first); err != nil {
		return err
	}
	s.o.trace("sync", seg.name())
	seg.index.cut(next - seg.first)
	seg.bytes.Store(off)
	return nil
}

// release releases the blocks after the end of the last segment that is left, and those of
// files that were removed. It is called with cutMu held.
func (s *Stream) release(left []*segment, removed []*os.File) {
	if len(left) > 0 {
		s.trim(left[len(left)-1])
	}
	for _, f := range removed {
		f.Close()
	}
}

// releaseLater is release in the background. It waits until TruncateBack returns: flushes of
// meta would wait for it.
func (s *Stream) releaseLater(left []*segment, removed []*os.File) {
	defer s.jobs.Done()
	s.cutMu.Lock()
	s.release(left, nil)
	s.cutMu.Unlock()
	s.release(nil, removed)
}

// trim truncates the file of a closed segment after its end, unless a reader has it open. It
// is called with cutMu held.
func (s *Stream) trim(seg *segment) {
	if s.broken != nil || s.at(seg.first) != seg { // the name may be that of another segment
		return
	}
	seg.mu.Lock()
	defer seg.mu.Unlock()
	if seg.refs > 0 || seg.gone {
		return
	}
	seg.shut() // for Windows
	if exclusive(s.lock, seg.first) {
		os.Truncate(seg.name(), seg.bytes.Load())
	}
}

// setEnd sets the end of a segment, durably.
func setEnd(name string, end, count int64) error {
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// Readers load the offset as one word.
	if word, err := mmapfile.At[[2]atomic.Uint64](f, atWriteOffset); err == nil && sys.Maps {
		word[0].Store(littleWord(uint64(end)))
		word[1].Store(littleWord(uint64(count)))
	} else {
		h := header{end: end, count: count}.bytes()
		if _, err := f.WriteAt(h[:atStart], 0); err != nil {
			return err
		}
	}
	return f.SyncRange(0, math.MaxInt64) // fdatasync(2), which needs no commit of the journal
}

// length returns the number of bytes that segments use. It is called with mu held.
func (s *Stream) length(list []*segment) (n int64) {
	for _, seg := range list {
		if seg == s.active.seg {
			n += s.active.end
		} else {
			n += seg.bytes.Load()
		}
	}
	return n
}
