package eventlog

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// active is a segment that is appended to, until it is closed.
type active struct {
	log *Log
	seg *segment

	// The mu of the Stream guards these.
	end           int64 // end of the log
	next          int64 // sequence number of the next event
	prepared      bool  // the next segment was asked for
	prevUnflushed int64 // bytes of the segment before that are not durable until prevDurable is closed

	prevDurable <-chan struct{} // closed once the directory entry and the segment before are durable
	done        chan struct{}   // closed once the log is closed
	err         error           // error of closing it
}

func newActive(l *Log, seg *segment) *active {
	return &active{log: l, seg: seg, end: l.end, next: seg.first + l.count, prevDurable: closed, done: make(chan struct{})}
}

// closed is a channel that is closed.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// sync returns once the log is durable up to end, with all that it follows.
func (a *active) sync(end int64) error {
	<-a.prevDurable
	err := a.log.syncTo(end)
	if errors.Is(err, os.ErrClosed) {
		<-a.done // which made all of it durable
		err = a.err
	}
	return err
}

// need makes sure that k events of n bytes fit into the active segment. It is called with mu held,
// and may release it meanwhile.
func (s *Stream) need(n, k int64) error {
	for s.full(n) && !s.closing && s.retains() {
		first := s.First()
		s.jobs.Add(1)
		s.mu.Unlock()
		s.retain() // an error leaves what is there
		s.jobs.Done()
		s.mu.Lock()
		if s.First() == first { // else other appends may have filled it again
			break
		}
	}
	switch a := s.active; {
	case s.closing:
		return os.ErrClosed
	case s.unfinished != nil:
		return s.unfinished
	case s.full(n) || a.next-1 > eventfile.MaxSeq-k: // a segment named by a larger number is none
		return ErrFull
	case s.leaves(n):
		return s.roll()
	case !a.prepared && a.end > s.o.SegmentSize/2 && s.flushes.Load():
		s.prepareNext()
	}
	return nil
}

// leaves reports whether n bytes begin the next segment.
func (s *Stream) leaves(n int64) bool {
	a := s.active
	return a.next > a.seg.first && n >= s.o.SegmentSize-a.end
}

// roll begins the next segment. The one before is closed in the background: at most one is
// at a time, so that a crash leaves two segments to verify. It is called with mu held.
func (s *Stream) roll() error {
	defer stats.stalls.since(time.Now())
	old := s.active
	<-old.prevDurable
	if err := s.synced.failed(); err != nil { // else segments before the last two could be torn
		return err
	}
	if err := s.start(old.next, false); err != nil {
		return err
	}
	s.active.prevDurable = old.done
	s.active.prevUnflushed = old.end - old.log.Durable()
	s.jobs.Add(1)
	go s.rolled(old)
	return nil
}

// Roll ends the last segment, if it has events, and begins the next. It returns once all events are
// durable and the segment is among [Stream.Segments]. Appends continue meanwhile. An error is a
// *[fs.PathError] with Op "roll": [ErrFull], one of the flush, [os.ErrClosed], or the system's.
func (s *Stream) Roll() error {
	s.mu.Lock()
	err := s.need(eventfile.EntrySize, 1) // as an append
	if err == nil && s.active.next > s.active.seg.first {
		err = s.roll()
	}
	prevDurable := s.active.prevDurable
	s.mu.Unlock()
	if err == nil {
		<-prevDurable
		err = s.synced.failed()
	}
	if err != nil {
		return s.fail("roll", err)
	}
	return nil
}

// rolled ends what roll began.
func (s *Stream) rolled(old *active) {
	defer s.jobs.Done()
	s.synced.fail(s.syncDir())
	s.closeSegment(old)
	s.retain() // an error leaves what is there to the next time
}

// closeSegment closes the log of a segment, which makes it durable. A truncation that failed may have
// done so before Close.
func (s *Stream) closeSegment(a *active) error {
	select {
	case <-a.done:
		return a.err
	default:
	}
	a.err = a.log.Close()
	s.trace("close", a.seg.name())
	if a.err = s.synced.fail(a.err); a.err == nil && a.next <= s.next.Load() { // not if TruncateBack ends it
		s.synced.advance(a.next, s.state.Load().Truncations)
	}
	close(a.done)
	return a.err
}

// start makes a new segment the active one. If blank is set, there is a file without a
// header. It is called with mu held. The caller syncs the directory.
func (s *Stream) start(first int64, blank bool) error {
	now := s.clock.read() // before anything is done, since Options.Now may panic
	if err := s.here(); err != nil {
		return err
	}
	name := eventfile.SegmentName(s.dir, first)
	prepared := s.spare == spareReady && !blank
	flag := os.O_CREATE | os.O_EXCL
	if blank {
		flag = os.O_CREATE
	}
	if prepared {
		s.spare = spareNone
		if err := eventfile.Rename(s.spareName(), name); err != nil {
			return err
		}
		flag = 0
	}
	l, err := openLocked(name, s.logOptions(), flag)
	if err != nil {
		if prepared { // else the next attempt would find the name taken
			os.Remove(name)
		}
		return err
	}
	err = s.here() // still: else the new file may be in another directory
	if err == nil {
		err = l.begin(now, prepared)
	}
	if err != nil {
		sys.Unlock(l.f)
		l.f.Close()
		os.Remove(name)
		return err
	}
	s.trace("start", name)
	s.use(l, first)
	return nil
}

// logOptions returns the options of a segment. The Stream counts the bytes of MaxSize, and of
// Flush, so that no lock is held during a flush.
func (s *Stream) logOptions() Options {
	o := s.o.Options
	o.Flush.Bytes, o.MaxSize = 0, 0
	if o.Grow == 0 && s.o.SegmentSize < minGrow {
		o.Grow = s.o.SegmentSize
	}
	return o
}

// use makes l, an open log, the active segment.
func (s *Stream) use(l *Log, first int64) {
	s.segmentList.mu.Lock()
	seg := s.add(first)
	s.segmentList.mu.Unlock()
	if old := s.active; old != nil {
		old.seg.bytes.Store(old.end)
	}
	l.clock = s.clock
	s.active = newActive(l, seg)
	s.next.Store(s.active.next)
}

// begin makes a file without events a log. If prepared is set, it consists of zeros that
// were written.
func (l *Log) begin(now int64, prepared bool) error {
	h := eventfile.Header{End: eventfile.HeaderSize, Start: now}
	size, err := l.size()
	if err == nil && size > eventfile.HeaderSize && !prepared {
		// Durably, so that a second crash does not bring back what the first has left. A
		// reader may have mapped the file, but has seen no event in it.
		if err = eventfile.TruncateOrZero(l.f, eventfile.HeaderSize, size); err == nil {
			err = l.f.Sync()
		}
	}
	if err == nil {
		_, err = l.f.WriteAt(h.Bytes(), 0)
	}
	if err == nil {
		size, err = l.size()
	}
	if err != nil {
		return err
	}
	l.end, l.count = h.End, 0
	l.attach(size)
	if prepared {
		l.preparedLimit = l.appendLimit
	}
	l.startFlusher()
	return nil
}

// syncDir makes the names of the files durable, if the system can do that.
func (s *Stream) syncDir() error {
	if err := hooks.syncNames(s.dirf); err != nil {
		return s.fail("sync", err)
	}
	s.trace("syncdir", s.dir)
	return nil
}

// trace tells tests that a step has ended that a crash may follow.
func (s *Stream) trace(op, name string) { hooks.trace(s.dir, op, name) }

// spareState says what spareName is.
type spareState int

const (
	spareNone  spareState = iota // there is no such file
	spareBusy                    // it is being written, or removed
	spareReady                   // the next segment: zeros that are durable
)

const spareName = "next.tmp" // OpenStream removes it

func (s *Stream) spareName() string { return filepath.Join(s.dir, spareName) }

// prepareNext has the next segment prepared in the background: no append waits for its
// blocks, and no flush for the journal that allocates them. A stream that is never flushed
// has no use for that, and its disk would have twice as much to write. It is called with mu
// held.
func (s *Stream) prepareNext() {
	s.active.prepared = true
	if s.spare == spareNone {
		s.spare = spareBusy
		s.jobs.Add(1)
		go s.prepare()
	}
}

func (s *Stream) prepare() {
	defer s.jobs.Done()
	state := spareReady
	if err := s.here(); err != nil {
		state = spareNone
	} else if err := eventfile.WriteSpare(s.spareName(), s.o.SegmentSize); err != nil {
		os.Remove(s.spareName()) // the disk is full: the next segment will grow as it needs to
		state = spareNone
	}
	s.trace("sync", s.spareName())
	s.mu.Lock()
	s.spare = state
	s.mu.Unlock()
}

// releaseSpare removes the spare file if there is one and err is that of a full disk, which may
// have no other space. Then what has failed is to be tried again. It is called with mu held.
func (s *Stream) releaseSpare(err error) bool {
	if s.spare != spareReady || !sys.IsFull(err) {
		return false
	}
	s.removeSpare()
	return true
}

// removeSpare removes the spare file. It is called when nothing in the background uses it.
func (s *Stream) removeSpare() {
	if s.spare != spareNone && s.here() == nil {
		os.Remove(s.spareName())
	}
	s.spare = spareNone
}
