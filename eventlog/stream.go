package eventlog

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// StreamOptions configures a stream. The zero value is the default.
type StreamOptions struct {
	// SegmentSize is the length of a segment in bytes, 0 for 64 MiB. An event or a
	// batch that is larger has a segment of its own, which becomes longer.
	SegmentSize int64

	// RetainBytes has the oldest segments removed when the stream is larger, 0 never.
	// That is checked when a segment is full and when the stream is opened. So the
	// files take up to RetainBytes and two segments.
	RetainBytes int64

	// RetainAge has a segment removed when its last event is older, 0 never. That is
	// checked at the same times. The last segment stays.
	RetainAge time.Duration

	// Options configure each segment. MaxSize must be 0.
	Options

	trace func(op, name string) // for tests: a step that a crash may follow
}

const defaultSegment = 64 << 20

func (o *StreamOptions) valid() bool {
	return o.Options.valid() && o.MaxSize == 0 && o.SegmentSize >= 0 && o.RetainBytes >= 0 && o.RetainAge >= 0
}

// Stream is a log in a directory, one file after the other, that is open for writing.
// Events have sequence numbers, which count up by 1. A new stream begins with 0. All
// methods may be called from any number of goroutines, Close included.
//
// What [Log] says of an event that was appended, and of one that was synced, holds here
// too: the order of events is that of the files, and a crash of the system loses none
// that was synced, in whatever it interrupts.
type Stream struct {
	catalog
	o    StreamOptions
	lock *os.File       // locked
	file *mmapfile.File // meta
	dirf *os.File       // the directory, to be synced; nil if the system cannot do that

	recovered Recovery

	// The order of locks: cutMu, mu, catalog.mu. None is held during a flush of events
	// but cutMu.
	cutMu  sync.Mutex // held while bounds change
	unsure uint64     // generations of bounds that failed to be written, and may be in meta

	mu      sync.Mutex // held by appends
	gone    bool
	broken  error // of a truncation that was begun: OpenStream will end it
	active  *active
	spare   spareState
	flushes atomic.Bool    // a flush was asked for
	jobs    sync.WaitGroup // in the background; begun with mu held if gone is not set

	synced durability
}

// durability is what is known to be durable.
type durability struct {
	mu    sync.Mutex
	next  int64
	backs int64 // next is of the time after so many calls of TruncateBack
	err   error // of a segment, or the directory, that could not be flushed
}

// OpenStream opens the stream in dir for appending. It creates dir, with mode 0777 before
// the umask, and the stream if need be. It may be called concurrently.
//
// There is one writer at a time: if the stream is open for writing, in this process or
// another, OpenStream returns [ErrLocked]. [Open] says on which systems.
//
// OpenStream verifies what was appended last, as [Open] does a log: the last segment, and
// those before it that were not closed in order. It does not read the others. A damaged
// segment is a *[CorruptError] in a *[fs.PathError] with the name of the file. [Repair]
// makes the events before the damage a segment.
func OpenStream(dir string, o StreamOptions) (*Stream, error) {
	if !o.valid() {
		return nil, openError(dir, fs.ErrInvalid)
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegment
	}
	if o.trace == nil {
		o.trace = func(string, string) {}
	}
	dir, err := filepath.Abs(dir) // for Chdir not to move it
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	s := &Stream{catalog: catalog{dir: dir}, o: o}
	s.list.Store(new([]*segment))
	opened := false
	defer func() { // Options.Now may panic
		if !opened {
			s.abandon()
		}
	}()
	if s.dirf, err = os.Open(dir); err != nil {
		return nil, err
	}
	if s.dirf.Sync() != nil {
		s.dirf.Close()
		s.dirf = nil
	}
	if s.lock, err = lockFile(dir, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, err
	}
	if err := sys.Lock(s.lock); err != nil {
		s.lock.Close()
		s.lock = nil
		if err == sys.ErrLocked {
			err = ErrLocked
		}
		return nil, openError(dir, err)
	}
	if err := s.recover(); err != nil {
		return nil, s.fail("open", err)
	}
	if err := s.retain(); err != nil {
		return nil, s.fail("open", err)
	}
	opened = true
	return s, nil
}

// abandon closes everything but the events.
func (s *Stream) abandon() {
	s.shutAll()
	if s.active != nil {
		s.active.log.Close()
	}
	if s.file != nil {
		s.file.Close()
	}
	if s.dirf != nil {
		s.dirf.Close()
	}
	if s.lock != nil {
		sys.Unlock(s.lock)
		s.lock.Close()
	}
}

// makeDir creates a directory and those above it, and makes their names durable, if the
// system can do that.
func makeDir(dir string) error {
	made := []string{dir} // also if it is there: a crash may have come before
	for d := dir; ; {
		if d = filepath.Dir(d); d == filepath.Dir(d) {
			break
		}
		if _, err := os.Stat(d); err == nil {
			break
		}
		made = append(made, d)
	}
	err := os.MkdirAll(dir, 0o777)
	for _, d := range made {
		syncDir(d)
	}
	return err
}

// Append appends an event with the data p, and returns its sequence number. For the rest
// see [Log.Append]: a Stream has no ErrFull, but its disk may be full.
func (s *Stream) Append(p []byte) (seq int64, err error) {
	seq, at, err := s.append(p, false)
	if err == nil {
		s.flushDue(at)
	}
	return seq, err
}

// AppendSync is [Stream.Append], and returns once the event is durable. Calls from several
// goroutines share flushes.
//
// An error with Op "sync" is one of the flush: then the event is in the stream.
func (s *Stream) AppendSync(p []byte) (seq int64, err error) {
	seq, at, err := s.append(p, true)
	if err != nil {
		return 0, err
	}
	return seq, s.syncTo(at)
}

// mark is a place in a stream.
type mark struct {
	a     *active
	end   int64 // offset in its log
	next  int64 // sequence number
	backs int64 // number of calls of TruncateBack before
}

func (s *Stream) append(p []byte, sync bool) (seq int64, at mark, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(len(p)) > maxData {
		return 0, at, s.fail("append", fs.ErrInvalid)
	}
	if err := s.need(entrySize + int64(len(p))); err != nil {
		return 0, at, s.fail("append", err)
	}
	a := s.active
	off, err := a.log.append(p, sync)
	if err != nil && s.releaseSpare() {
		off, err = a.log.append(p, sync)
	}
	if err != nil {
		return 0, at, err
	}
	seq = a.next
	s.appended(off, len(p))
	return seq, s.mark(), nil
}

// AppendBatch appends an event for each of ps, and returns the sequence number of the
// first. All of them are in one segment. For the rest see [Log.AppendBatch].
func (s *Stream) AppendBatch(ps ...[]byte) (first int64, err error) {
	first, at, err := s.appendBatch(ps)
	if err == nil {
		s.flushDue(at)
	}
	return first, err
}

func (s *Stream) appendBatch(ps [][]byte) (first int64, at mark, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := int64(0)
	for _, p := range ps {
		total += entrySize + int64(len(p))
	}
	if err := s.need(total); err != nil {
		return 0, at, s.fail("append", err)
	}
	a := s.active
	off, err := a.log.AppendBatch(ps...)
	if err != nil && s.releaseSpare() {
		off, err = a.log.AppendBatch(ps...)
	}
	if err != nil {
		return 0, at, err
	}
	first = a.next
	for _, p := range ps {
		s.appended(off, len(p))
		off += entrySize + int64(len(p))
	}
	return first, s.mark(), nil
}

// flushDue flushes if an append leaves Options.Flush.Bytes unflushed. An error is kept for
// Sync and Close.
func (s *Stream) flushDue(at mark) {
	limit := s.o.Flush.Bytes
	if limit == 0 {
		return
	}
	unflushed := at.end - at.a.log.Durable()
	select {
	case <-at.a.before:
	default:
		unflushed += at.a.carry
	}
	if unflushed >= limit {
		s.syncTo(at)
	}
}

// appended notes an event that was appended. It is called with mu held.
func (s *Stream) appended(off int64, size int) {
	a := s.active
	a.end = off + entrySize + int64(size)
	a.seg.index.add(a.next-a.seg.first, off, a.end)
	a.next++
	s.next.Store(a.next)
}

// mark returns the present end. It is called with mu held.
func (s *Stream) mark() mark {
	return mark{s.active, s.active.end, s.active.next, s.state.Load().backs}
}

// Sync makes durable all events whose append has returned. An error has Op "sync". After
// a flush has failed, every later Sync, AppendSync and Close returns its error: see
// [Log.Sync].
func (s *Stream) Sync() error {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return s.fail("sync", os.ErrClosed)
	}
	at := s.mark()
	s.mu.Unlock()
	return s.syncTo(at)
}

// syncTo returns once everything before at is durable.
func (s *Stream) syncTo(at mark) error {
	if s.durable(at) {
		return nil
	}
	s.flushes.Store(true)
	err := at.a.sync(at.end)
	d := &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	if err == nil && d.backs == at.backs {
		d.next = max(d.next, at.next)
	}
	return err
}

// durable reports whether everything before at is known to be durable.
func (s *Stream) durable(at mark) bool {
	d := &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err == nil && d.backs == at.backs && d.next >= at.next
}

// Durable returns the sequence number up to which all events are known to be durable. It
// makes no system call. It waits for appends that have begun.
func (s *Stream) Durable() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durableNext()
}

// durableNext is Durable. It is called with mu held.
func (s *Stream) durableNext() int64 {
	a, d := s.active, &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-a.before:
		if d.err == nil && !s.gone { // the log may have flushed by itself
			d.next = max(d.next, a.seg.first+a.seg.index.count(a.log.Durable()))
		}
	default:
	}
	return d.next
}

// First returns the sequence number of the first event, or Next if there is none. After
// Close it stays the same, as do Next and Size.
func (s *Stream) First() int64 { return s.firstOf(*s.state.Load()) }

// Next returns the sequence number that the next event will have. It does not wait for
// appends that have begun.
func (s *Stream) Next() int64 { return s.next.Load() }

// Size returns the number of bytes of all segments, without the space after the last
// event. It includes events before First in the segment that First is in. It waits for
// appends that have begun.
func (s *Stream) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.length(s.segments())
}

// Recovery returns what OpenStream has found in the last segment, and what it truncated.
// Kept names the file, or the first of the files, with events that were not appended in
// full before a crash of the system.
func (s *Stream) Recovery() Recovery { return s.recovered }

// Get returns the event with the number seq. Its Data is a copy, which belongs to the
// caller.
//
// The first Get in a segment reads the headers of all its events, and keeps four bytes
// for each in memory; the writer does so when it appends. Get verifies the event.
//
// An error is a *[fs.PathError] with Op "get": [ErrTruncated], [fs.ErrNotExist] for an
// event that was not appended yet, a *[CorruptError], [os.ErrClosed], or the system's.
func (s *Stream) Get(seq int64) (Event, error) {
	if seq >= s.next.Load() {
		if s.closed.Load() {
			return Event{}, s.fail("get", os.ErrClosed)
		}
		return Event{}, s.fail("get", fs.ErrNotExist)
	}
	return s.get(seq)
}

// Events returns an iterator over the events from number from on, in order, up to the
// end that the stream has when the iteration begins. It verifies each event.
//
// Data is the file's own memory, and valid only in the body of the loop: copy it to keep
// it. In the body it does not change, whatever becomes of the stream, but Close ends it.
//
// An error is the last that the iterator yields, with the Seq that it has reached: a
// *[fs.PathError] with Op "events" and [ErrTruncated] if that event was removed, before
// the iteration or during it, [fs.ErrInvalid] for a number after Next, a *[CorruptError],
// [os.ErrClosed], or the system's. The iterator may be used again, and by several
// goroutines. The loop's body may append, and sees no event after Close.
func (s *Stream) Events(from int64) iter.Seq2[Event, error] {
	return s.events(everything, startAt(from))
}

// Since is [Stream.Events] for the events that are not older than t. It begins with the
// last segment that was begun before t, and passes over older events without verifying
// them. So if the clock was set back, events of earlier segments are left out.
func (s *Stream) Since(t time.Time) iter.Seq2[Event, error] {
	return s.events(since(t), func() (int64, error) { return s.since(t) })
}

// Close makes all events durable, as [Log.Close] does, and unlocks the stream. It waits
// for appends that have begun and for work in the background. An error is a
// *[fs.PathError]: that of a flush, or, for a second Close, [os.ErrClosed] with Op
// "close".
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return s.fail("close", os.ErrClosed)
	}
	s.gone = true
	s.mu.Unlock()
	s.jobs.Wait()
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	err := s.end(s.active)
	s.shutAll()
	s.removeSpare()
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	if s.dirf != nil {
		s.dirf.Close()
	}
	sys.Unlock(s.lock)
	if cerr := s.lock.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return s.fail("close", err)
	}
	return nil
}
