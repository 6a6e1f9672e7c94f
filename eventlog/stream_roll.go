package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/sys"
)

// active is a segment that is appended to, until it is closed. After a truncation there is none: log and seg are nil
// until the next append begins one.
type active struct {
	log *Log
	seg *segment

	// The mu of the Stream guards these.
	end      int64 // end of the log
	next     int64 // sequence number of the next event
	prepared bool  // the next segment was asked for
	ended    bool  // no event is appended any more: there may be a file for the next segment

	truncations int64 // calls of TruncateBack before it was begun

	prevUnflushed int64           // bytes of the segment before that are not durable until prevDurable is closed
	prevDurable   <-chan struct{} // closed once the directory entry and the segment before are durable
	done          chan struct{}   // closed once the log is closed
	err           error           // error of closing it
}

// newActive makes l, an open log, the active segment, after prev unless that is nil.
func (s *Stream) newActive(l *Log, seg *segment, prev *active) {
	a := &active{log: l, seg: seg, end: l.end, next: seg.first + l.count, prevDurable: closed, done: make(chan struct{})}
	a.truncations = s.state.Load().Truncations
	if prev != nil {
		a.prevDurable, a.prevUnflushed = prev.done, prev.end-prev.log.Durable()
	}
	l.clock = s.clock
	s.activate(a)
}

// activate makes a the active segment.
func (s *Stream) activate(a *active) {
	if old := s.active; old != nil && old.seg != nil {
		old.seg.bytes.Store(old.end)
	}
	s.active = a
	s.current.Store(a)
	s.next.Store(a.next)
	s.resize()
}

// end ends the active segment, which is closed. All events before number next are durable.
func (s *Stream) end(next int64) {
	b := s.state.Load()
	s.synced.reset(next, b.Truncations)
	s.activate(&active{next: next, truncations: b.Truncations, prevDurable: closed, done: closed})
}

// begin begins a segment after a truncation. It is called with mu held, and releases it meanwhile.
func (s *Stream) begin() (err error) {
	s.jobs.Add()
	defer s.jobs.Done()
	s.mu.Unlock()
	s.boundsMu.Lock()
	defer s.boundsMu.Unlock()
	s.mu.Lock()
	if s.active.log != nil || s.closing || s.unfinished != nil {
		return nil
	}
	if err = s.start(s.active.next, nil); err == nil {
		if err = s.syncDir(); err == nil {
			err = s.setBounds(*s.state.Load()) // for readers to list the directory again
		}
		s.unfinished = err
	}
	return err
}

// closed is a channel that is closed.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// sync returns once the log is durable up to end. That follows what prevDurable waits for.
func (a *active) sync(end int64) error {
	if a.log == nil {
		return nil
	}
	err := a.log.syncTo(end)
	if errors.Is(err, os.ErrClosed) {
		wait(a.done) // which made all of it durable
		err = a.err
	}
	return err
}

// need makes sure that k events of n bytes fit into the active segment. It is called with mu held,
// and may release it meanwhile.
func (s *Stream) need(n, k int64) error {
	for s.full(n) && !s.closing && s.retains() {
		oldest := s.oldest() // not First, which is raised before the list is shorter
		s.jobs.Add()
		s.mu.Unlock()
		s.retain() // an error leaves what is there
		s.jobs.Done()
		s.mu.Lock()
		if s.oldest() == oldest { // else other appends may have filled it again
			break
		}
	}
	for s.active.log == nil && !s.closing && s.unfinished == nil && !s.full(n) {
		if err := s.begin(); err != nil && !s.releaseSpare(err) {
			return err
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
	return a.log != nil && a.next > a.seg.first && (a.ended || n >= s.o.SegmentSize-a.end)
}

// roll begins the next segment. The one before is closed in the background: at most one is
// at a time, so that a crash leaves two segments to verify. It is called with mu held.
func (s *Stream) roll() error {
	defer stats.stalls.since(time.Now())
	old := s.active
	wait(old.prevDurable)
	if err := s.synced.failed(); err != nil { // else segments before the last two could be torn
		return err
	}
	err := s.start(old.next, old)
	if s.releaseSpare(err) {
		err = s.start(old.next, old)
	}
	if err != nil {
		return err
	}
	s.jobs.Go(func() { s.rolled(old) })
	return nil
}

// Roll ends the last segment, if it has events, and begins the next. It returns once all
// events are durable and the segment is among [Stream.Segments]. Appends continue meanwhile.
// An error is a *[fs.PathError] with Op "roll": [ErrFull], the error of a flush,
// [os.ErrClosed], or the system's.
func (s *Stream) Roll() error {
	s.mu.Lock()
	err := s.need(eventfile.EntrySize, 1) // as an append
	if a := s.active; err == nil && a.next > a.seg.first {
		err = s.roll()
	}
	prevDurable := s.active.prevDurable
	s.mu.Unlock()
	if err == nil {
		wait(prevDurable)
		err = s.synced.failed()
	}
	if err != nil {
		return s.fail("roll", err)
	}
	return nil
}

// rolled ends what roll began.
func (s *Stream) rolled(old *active) {
	s.synced.fail(s.syncDir())
	s.closeSegment(old)
	s.thinIndexes()
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
	a.err = a.log.closeMarked(s.synced.failed() == nil) // a segment counts as closed only with all before it
	s.trace("close", a.seg.name())
	if a.err = s.synced.fail(a.err); a.err == nil {
		s.synced.advance(a.next, a.truncations)
	}
	close(a.done)
	return a.err
}

// start makes a new segment the active one, after prev unless that is nil. If it fails, there may be a file without
// events, which the next call uses. It is called with mu held. The caller syncs the directory.
func (s *Stream) start(first int64, prev *active) error {
	now := s.clock.read() // before anything is done, since Options.Now may panic
	if err := s.here(); err != nil {
		return err
	}
	name := eventfile.SegmentName(s.dir, first)
	flag := os.O_CREATE | os.O_EXCL
	if s.active != nil {
		if s.active.ended {
			flag = os.O_CREATE
		}
		s.active.ended = true
	}
	prepared := s.spare == spareReady && flag&os.O_EXCL != 0
	if prepared {
		s.spare = spareNone
		if err := logdisk.Rename(s.spareName(), name); err != nil {
			return err
		}
		flag = 0
	}
	l, err := openLocked(name, s.logOptions(), flag)
	if err != nil {
		return err
	}
	if err = s.here(); err == errReplaced { // meanwhile: the new file may be in another directory
		logdisk.Remove(name)
	}
	if err == nil {
		err = l.begin(now, prepared)
	}
	if err != nil {
		l.release()
		return err
	}
	l.startFlusher()
	s.trace("start", name)
	s.use(l, first, prev)
	return nil
}

// unstart removes the file of the next segment, if one could not begin.
func (s *Stream) unstart() error {
	if !s.active.ended {
		return nil
	}
	if err := logdisk.Remove(eventfile.SegmentName(s.dir, s.active.next)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
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

// use appends l, an open log, to the list as the active segment, after prev unless that is nil.
func (s *Stream) use(l *Log, first int64, prev *active) {
	s.segmentList.mu.Lock()
	seg := s.add(first)
	s.segmentList.mu.Unlock()
	s.newActive(l, seg, prev)
}

// syncDir makes the names of the files durable, if the system can do that.
func (s *Stream) syncDir() error {
	if err := s.dirf.SyncNames(); err != nil {
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
		s.jobs.Go(s.prepare)
	}
}

func (s *Stream) prepare() {
	state := spareReady
	if err := s.here(); err != nil {
		state = spareNone
	} else if err := eventfile.WriteSpare(s.spareName(), (s.o.SegmentSize+page-1)/page*page); err != nil { // see lengths
		logdisk.Remove(s.spareName()) // the disk is full: the next segment will grow as it needs to
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
		logdisk.Remove(s.spareName())
	}
	s.spare = spareNone
}
