package eventlog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// StreamOptions configure a stream. The zero value is the default.
type StreamOptions struct {
	// SegmentSize is the length of a segment in bytes; 0 means 64 MiB. A larger event
	// or batch has a longer segment of its own.
	SegmentSize int64

	// RetainBytes is the size above which the oldest segments are deleted; 0 keeps all.
	// It is checked when a segment is full and when the stream is opened, so the files
	// take up to RetainBytes and two segments.
	RetainBytes int64

	// RetainAge is the age above which segments are deleted, counted from the start of the
	// next segment; 0 keeps all. It is checked at the same times. The last segment stays. If
	// a segment was begun after now, or before an earlier one, the clock was wrong, and the
	// start of the segment after it counts.
	RetainAge time.Duration

	// Options configure each segment, but MaxSize is that of the stream, in bytes of all segments.
	// An append that would make [Stream.Size] larger first lets retention delete what it can; then
	// it fails with [ErrFull], until TruncateFront or retention has removed a segment. Files may
	// take more: the space that Grow allocates, and a segment prepared ahead.
	Options
}

const defaultSegment = 64 << 20

func (o *StreamOptions) valid() bool {
	return o.Options.valid() && o.SegmentSize >= 0 && o.RetainBytes >= 0 && o.RetainAge >= 0
}

// Stream is a log in a directory, one file after the other, that is open for writing. Events
// have sequence numbers, which count up by 1; a new stream begins with 0. Methods may be
// called from any number of goroutines, including Close.
//
// An event is visible to every reader once its append has returned, which is before it is
// durable: see [OnlyDurable]. An append that fails leaves no event. It may leave zeros after
// the last event, a longer file, the next segment without events, or allocated space.
//
// The package's sections on durability and damage hold for a Stream, too. Events of one file
// are older than those of the next. A crash of the system at any time loses no event that was
// synced.
//
// If another directory takes the place of the stream's, as when a backup is restored, the
// Stream leaves it alone, and appends fail from the next segment on.
type Stream struct {
	writerCatalog
	o     StreamOptions
	clock *clock       // the one of all segments
	lock  logdisk.File // locked
	file  logdisk.File // meta
	dirf  logdisk.File // the directory, to be synced, and to keep the number of home its own

	recovered Recovery

	// Lock order: boundsMu, mu, segmentList.mu. Only boundsMu is held during a flush of events.
	boundsMu          logdisk.Mutex // held while bounds change
	failedGenerations uint64        // number of generations whose write failed, and which may be in meta

	mu         logdisk.Mutex // held by appends
	closing    bool
	inactive   int64 // bytes of all segments but the active one
	unfinished error // why a truncation has not ended: OpenStream will end it
	active     *active
	current    atomic.Pointer[active] // copy of active, for goroutines that do not hold mu
	spare      spareState
	flushes    atomic.Bool  // a flush was asked for
	jobs       logdisk.Jobs // in the background; begun with mu held if closing is not set

	synced durability
}

// OpenStream opens the stream in dir for appending. It creates dir, with mode 0777 before the
// umask, and the stream if there is none. It may be called concurrently.
//
// There is one writer at a time: if the stream is open for writing, in this process or
// another, OpenStream fails with [ErrLocked]. [Open] says on which systems.
//
// OpenStream verifies what was appended last, as Open does for a log: the last segment, and
// those before it that were not closed in order. It reads no other segment; see
// [Stream.Check]. If a segment is damaged, it returns a *[CorruptError] in a *[fs.PathError]
// with the name of the file. [Repair] of that file keeps the events before the damage.
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
		if opened {
			return
		}
		if s.active != nil && s.active.log != nil {
			s.active.log.closeMarked(false) // its name may not be durable
		}
		s.release()
	}()
	if s.dirf, err = logdisk.OpenFile(dir, os.O_RDONLY, 0); err != nil {
		return nil, err
	}
	if s.home, err = s.dirf.Stat(); err != nil {
		return nil, err
	}
	if s.lock, err = lockFile(filepath.Join(dir, eventfile.LockName), dir, os.O_CREATE); err != nil {
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

// release closes everything but the active segment. It returns the first error of a file that is written.
func (s *Stream) release() (err error) {
	s.shutAll()
	if s.file != nil {
		err = s.file.Close()
	}
	if s.dirf != nil {
		s.dirf.Close()
	}
	if s.lock != nil {
		s.lock.Unlock()
		err = cmp.Or(err, s.lock.Close())
	}
	return err
}

// makeDir creates a directory and those above it, and makes their names durable, if the
// system can do that. Each is durable before there is one in it. So after an error or a crash
// only the last one that is there may not be.
func makeDir(dir string) error {
	made := []string{dir} // from the one that is there, or from the root
	for d := dir; ; made = append(made, d) {
		if _, err := logdisk.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		d = filepath.Dir(d)
	}
	for _, d := range slices.Backward(made) {
		if err := logdisk.Mkdir(d, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := logdisk.SyncDir(dirOf(d)); err != nil {
			return err
		}
	}
	return nil
}

// First returns the sequence number of the first event, or Next if there is none. First, Next
// and Size may be called after Close.
func (s *Stream) First() int64 { return s.firstOf(*s.state.Load()) }

// Next returns the sequence number that the next event will have. It does not wait for appends
// in progress.
func (s *Stream) Next() int64 {
	next, _ := s.tail()
	return next
}

// Size returns the number of bytes of all segments, without the space after the last event. It
// includes events before First in the segment that First is in, and events that TruncateBack
// has removed from segments that are left. It waits for appends in progress.
func (s *Stream) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size()
}

// Recovery returns what OpenStream has found and truncated. Events and Offset are those of the
// last segment alone. What was truncated includes segments after it that were set aside.
// SavedAs names the first file in which truncated bytes were saved.
func (s *Stream) Recovery() Recovery { return s.recovered }

// Get returns the event with the number seq, which it verifies. Its Data is a copy, which
// belongs to the caller.
//
// The first Get in a segment reads the headers of all its events, and keeps up to four bytes
// for each in memory: at most 16 MiB for all segments but the last. The writer does so for the
// last segment when it opens the stream, and when it appends. Events instead reads a segment
// once, and keeps nothing of it.
//
// An error is a *[fs.PathError] with Op "get": Get fails with [ErrTruncated], [fs.ErrNotExist]
// for an event that was not appended yet, a *[CorruptError], [os.ErrClosed], or the system's
// error.
func (s *Stream) Get(seq int64) (Event, error) {
	if seq >= s.next.Load() {
		if s.closed.Load() {
			return Event{}, s.fail("get", os.ErrClosed)
		}
		return Event{}, s.fail("get", fs.ErrNotExist)
	}
	return getEvent(s, seq)
}

// Events returns an iterator over the events from number from on, in order, up to the end that
// the stream has when the iteration begins. It verifies each event.
//
// Data is the file's own memory, or a buffer if most of the segment is on the disk. It is
// valid only in the body of the loop: copy it to keep it. In the body it does not change when
// the stream is truncated. It must not be used after Close.
//
// An error ends the iteration, and comes with the Seq that was reached. It is a
// *[fs.PathError] with Op "events": Events fails with [ErrTruncated] if that event was
// removed, before the iteration or during it, [fs.ErrInvalid] for a number after Next, a
// *[CorruptError], [os.ErrClosed], or the system's error. The iterator may be used again, and
// by several goroutines. The loop's body may append. The loop sees no event after Close.
func (s *Stream) Events(from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamEvents(s, from, everything, o...)
}

// Since is like [Stream.Events], but for the events that are not older than t. It begins with
// the last segment that was begun before t, and skips older events there without verifying
// them. So if the clock was set back, events of earlier segments are left out.
func (s *Stream) Since(t time.Time) iter.Seq2[Event, error] {
	return streamEvents(s, 0, since(t))
}

// Follow is like [StreamReader.Follow], for the program that writes the stream. After
// [Stream.Close] it fails with [os.ErrClosed].
func (s *Stream) Follow(ctx context.Context, from int64, o ...ReadOption) iter.Seq2[Event, error] {
	return streamFollow(ctx, s, from, o)
}

// Close makes all events durable, as [Log.Close] does, and unlocks the stream. It waits for
// appends in progress and for work in the background. An error is a *[fs.PathError] from a
// flush. A second Close fails with [os.ErrClosed].
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
	s.removeSpare()
	if err = cmp.Or(err, s.release()); err != nil {
		return s.fail("close", err)
	}
	return nil
}
