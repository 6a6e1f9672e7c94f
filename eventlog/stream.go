package eventlog

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
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

	// RetainAge has a segment removed when the one after it was begun longer ago, 0
	// never. That is checked at the same times. The last segment stays.
	RetainAge time.Duration

	// Options configure each segment, but MaxSize is that of the stream, in bytes of all segments.
	// An append that would make [Stream.Size] larger is [ErrFull], until TruncateFront or
	// retention has removed a segment. Such an append has retention remove what it can first.
	// Files may take more: the space that Grow allocates, and a segment prepared ahead.
	Options
}

const defaultSegment = 64 << 20

func (o *StreamOptions) valid() bool {
	return o.Options.valid() && o.SegmentSize >= 0 && o.RetainBytes >= 0 && o.RetainAge >= 0
}

// Stream is a log in a directory, one file after the other, that is open for writing.
// Events have sequence numbers, which count up by 1. A new stream begins with 0. All
// methods may be called from any number of goroutines, Close included.
//
// An event is visible to every reader once its append has returned, which is before it is
// durable: see [OnlyDurable]. An append that fails leaves no event. It may leave zeros
// after the last event, a longer file, the next segment without events, or space taken by that.
//
// The package's sections on durability and damage hold for a Stream, too. Events of
// one file are older than those of the next. A crash of the system at any time loses
// no event that was synced.
//
// If another directory takes the place of the stream's, as when a backup is restored, the
// Stream leaves it alone: appends are errors from the next segment on.
type Stream struct {
	writerCatalog
	o     StreamOptions
	clock *clock         // the one of all segments
	lock  *os.File       // locked
	file  *mmapfile.File // meta
	dirf  *os.File       // the directory, to be synced, and to keep the number of home its own

	recovered Recovery

	// Lock order: boundsMu, mu, segmentList.mu. Only boundsMu is held during a flush of events.
	boundsMu          sync.Mutex // held while bounds change
	failedGenerations uint64     // number of generations whose write failed, and which may be in meta

	mu         sync.Mutex // held by appends
	closing    bool
	inactive   inactiveBytes
	unfinished error // why a truncation has not ended: OpenStream will end it
	active     *active
	spare      spareState
	flushes    atomic.Bool    // a flush was asked for
	jobs       sync.WaitGroup // in the background; begun with mu held if closing is not set

	synced durability
}

// OpenStream opens the stream in dir for appending. It creates dir, with mode 0777 before
// the umask, and the stream if there is none. It may be called concurrently.
//
// There is one writer at a time: if the stream is open for writing, in this process or
// another, OpenStream returns [ErrLocked]. [Open] says on which systems.
//
// OpenStream verifies what was appended last, as [Open] does a log: the last segment,
// and those before it that were not closed in order. It reads no other segment, see
// [Stream.Check]. A damaged segment is a *[CorruptError] in a *[fs.PathError] with the name
// of the file. [Repair] of that file keeps the events before the damage.
func OpenStream(dir string, o StreamOptions) (*Stream, error) {
	if !o.valid() {
		return nil, openError(dir, fs.ErrInvalid)
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegment
	}
	dir, err := filepath.Abs(dir) // for Chdir not to move it
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	s := &Stream{o: o, clock: newClock(o.Now)}
	s.init(dir)
	opened := false
	defer func() { // Options.Now may panic
		if !opened {
			s.abandon()
		}
	}()
	if s.dirf, err = os.Open(dir); err != nil {
		return nil, err
	}
	if s.home, err = s.dirf.Stat(); err != nil {
		return nil, err
	}
	if s.lock, err = lockFile(filepath.Join(dir, eventfile.LockName), os.O_CREATE); err != nil {
		return nil, err
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
// system can do that. Each is durable before there is one in it. So after an error or a crash
// only the last one that is there may not be.
func makeDir(dir string) error {
	made := []string{dir} // from the one that is there, or from the root
	for d := dir; ; made = append(made, d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		d = filepath.Dir(d)
	}
	for _, d := range slices.Backward(made) {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return err
		}
		if err := hooks.syncDir(dirOf(d)); err != nil {
			return err
		}
	}
	return nil
}

// First returns the sequence number of the first event, or Next if there is none. After
// Close it stays the same, as do Next and Size.
func (s *Stream) First() int64 { return s.firstOf(*s.state.Load()) }

// Next returns the sequence number that the next event will have. It does not wait for
// appends that have begun.
func (s *Stream) Next() int64 {
	next, _ := s.tail()
	return next
}

// Size returns the number of bytes of all segments, without the space after the last
// event. It includes events before First in the segment that First is in, and those that
// TruncateBack has removed from segments that are left. It waits for appends that have begun.
func (s *Stream) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size()
}

// Recovery returns what OpenStream has found and truncated. Events and Offset are those of the
// last segment alone. What was truncated includes segments after it that were set aside. SavedAs
// names the first file in which truncated bytes were saved.
func (s *Stream) Recovery() Recovery { return s.recovered }

// Get returns the event with the number seq. Its Data is a copy, which belongs to the
// caller.
//
// Events reads a segment once, and keeps nothing of it. The first Get in a segment reads the headers of all its events, and keeps four bytes
// for each in memory. The writer does so for the last segment when it opens the stream,
// and when it appends. Get verifies the event.
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
	return getEvent(s, seq)
}

// Events returns an iterator over the events from number from on, in order, up to the
// end that the stream has when the iteration begins. It verifies each event.
//
// Data is the file's own memory, or a buffer if most of the segment is on the disk. It is valid
// only in the body of the loop: copy it to keep it. In the body it does not change when the stream is truncated. It must not be
// used after Close.
//
// An error ends the iteration, and has the Seq that it has reached. It is a
// *[fs.PathError] with Op "events": [ErrTruncated] if that event was removed, before
// the iteration or during it, [fs.ErrInvalid] for a number after Next, a
// *[CorruptError], [os.ErrClosed], or the system's. The iterator may be used again,
// and by several goroutines. The loop's body may append, and sees no event after
// Close.
func (s *Stream) Events(from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamEvents(s, everything, startAt(from), o...)
}

// Since is [Stream.Events] for the events that are not older than t. It begins with the
// last segment that was begun before t, and passes over older events without verifying
// them. So if the clock was set back, events of earlier segments are left out.
func (s *Stream) Since(t time.Time) iter.Seq2[Event, error] {
	return streamSince(s, t)
}

// Follow is [StreamReader.Follow] for the program that writes the stream. [Stream.Close] ends it
// with [os.ErrClosed].
func (s *Stream) Follow(ctx context.Context, from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamFollow(ctx, s, from, o)
}

// Close makes all events durable, as [Log.Close] does, and unlocks the stream. It waits
// for appends that have begun and for work in the background. An error is a
// *[fs.PathError]: that of a flush, or, for a second Close, [os.ErrClosed] with Op
// "close".
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return s.fail("close", os.ErrClosed)
	}
	s.closing = true
	s.mu.Unlock()
	s.jobs.Wait()
	s.boundsMu.Lock()
	defer s.boundsMu.Unlock()
	err := s.closeSegment(s.active)
	s.shutAll()
	s.removeSpare()
	err = cmp.Or(err, s.file.Close())
	s.dirf.Close()
	sys.Unlock(s.lock)
	err = cmp.Or(err, s.lock.Close())
	if err != nil {
		return s.fail("close", err)
	}
	return nil
}
