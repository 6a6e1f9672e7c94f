package eventlog

import (
	"cmp"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Log is a log that is open for writing. Its methods may be called from any number
// of goroutines, Close included: a call that comes after Close returns an error for
// which errors.Is(err, [os.ErrClosed]) holds.
type Log struct {
	logFile
	os        *os.File // the one that f wraps
	o         Options
	clock     *clock
	recovered Recovery

	waiting atomic.Int32 // appends that wait for mu
	synced  durability
	flush   flusher

	// For goroutines that do not hold mu.
	published  atomic.Int64 // copy of end
	minFileLen atomic.Int64 // copy of fileLen; another program has truncated a file that is shorter

	// Lock order: mu, flush.mu, synced.mu; mu of logFile comes after mu, too. A flush runs without
	// flush.mu, and without mu unless Close or a file of full size asks for it.

	mu            sync.Mutex     // held by an append
	closing       bool           // Close was called
	end           int64          // WriteOffset
	count         int64          // EventCount
	tally         tally          // what Stats has of count and end
	mem           []byte         // the whole file; nil if it is not mapped
	word          *atomic.Uint64 // WriteOffset in mem
	fileLen       int64          // length of the file
	prevFileLen   int64          // fileLen before the file was last made longer
	appendLimit   int64          // largest end of events without a longer file
	preparedLimit int64          // largest end of events without a call of grow
	stage         stage          // events that one system call will write
	words         []byte         // for put

	direct int    // number of appends to write by system call: see useCalls
	seen   uint64 // flush.count when direct was set
}

// Open opens the named log for appending. It creates the log, with mode 0666 before
// the umask, if there is none. It may be called concurrently.
//
// A log has one writer: Open returns [ErrLocked] while the log is open for writing,
// in this process or another. The lock is advisory. AIX, Solaris, Plan 9, js and wasip1
// have none; there the program must ensure that there is one writer.
//
// Open verifies the events, as [Options].Verify says. A crash of the system may leave
// a tail that is not whole: Open truncates it, and [Log.Recovery] says how much that
// was. If it may have valid events, Open first saves it in a file beside the log. A log
// that is damaged before valid events, or a file that is no log, is a *[CorruptError],
// and stays as it is. [Repair] truncates it.
//
// Other errors are a *[fs.PathError] with Op "open": [fs.ErrInvalid] for a negative
// number in o, [errors.ErrUnsupported] for what is not a regular file, or the system's.
// When Open returns, all events are durable. So is a new log's directory entry, if the
// system can sync a directory, and the process may read it.
func Open(name string, o Options) (*Log, error) { return openLog(name, o, nil) }

// openLog is Open. It adds all events to x, unless that is nil.
func openLog(name string, o Options, x *eventfile.Index) (*Log, error) {
	if !o.valid() {
		return nil, openError(name, fs.ErrInvalid)
	}
	l, err := openLocked(name, o, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() { // Options.Now may panic
		if !opened {
			sys.Unlock(l.f)
			l.f.Close()
		}
	}()
	if err := l.recover(false, x); err != nil {
		return nil, l.fail("open", err)
	}
	l.startFlusher()
	opened = true
	return l, nil
}

// openLocked opens the file and locks it.
func openLocked(name string, o Options, flag int) (*Log, error) {
	f, err := eventfile.Open(name, os.O_RDWR|flag)
	if err != nil {
		return nil, err
	}
	if err := sys.Lock(f); err != nil {
		f.Close()
		if err == sys.ErrLocked {
			err = ErrLocked
		}
		return nil, openError(name, err)
	}
	return &Log{logFile: logFile{f: f}, os: f.OS(), o: o, clock: newClock(o.Now)}, nil
}

// create makes the empty file a log, and makes that durable. Its name comes first: if the process
// ends meanwhile, the file stays empty for the next Open to do this again.
func (l *Log) create() error {
	h := eventfile.Header{End: eventfile.HeaderSize, Start: l.clock.read()}
	if err := hooks.syncDir(dirOf(l.f.Name())); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(h.Bytes(), 0); err != nil {
		l.f.Truncate(0)
		return err
	}
	if err := l.f.Sync(); err != nil {
		return err
	}
	l.end, l.count = h.End, 0
	l.attach(eventfile.HeaderSize)
	return nil
}

// dirOf returns the directory of the file itself, if name is a link to it.
func dirOf(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	return filepath.Dir(name)
}

// Len returns the number of events in the log. After Close it stays the same. It waits
// for appends that have begun.
func (l *Log) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Size returns the number of bytes that the log uses, header included. That is the
// offset of the next event. After Close it stays the same. It waits as Len does.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Recovery returns what Open has found and truncated.
func (l *Log) Recovery() Recovery { return l.recovered }

// Close makes all events durable, truncates the file after the last of them, and
// unlocks it. [Event.Data] must not be used any more. Close waits for appends that have
// begun. On Windows a file that a reader has open is not
// truncated. Then a mark and zeros stay after the last event, for the next writer.
//
// An error is a *[fs.PathError]: that of a flush, after which the file is not truncated,
// or io.ErrUnexpectedEOF if another program has truncated the log. That of a second
// Close has Op "close" and [os.ErrClosed].
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return l.fail("close", os.ErrClosed)
	}
	l.closing = true
	l.tallyUp()
	l.flush.stop()
	// First the flush: a file that is as long as its WriteOffset is durable.
	err := l.syncTo(l.end)
	if err == nil {
		err = l.trim()
	}
	l.mem, l.word = nil, nil
	sys.Unlock(l.f)
	err = cmp.Or(err, l.close())
	return err
}

// trim truncates the file after the last event. A reader that has the file mapped does not touch
// what is after WriteOffset, which has never been larger.
func (l *Log) trim() error {
	switch size, err := l.size(); {
	case err != nil || size == l.end:
		return err
	case size < l.minFileLen.Load():
		return l.fail("close", io.ErrUnexpectedEOF)
	}
	l.logFile.mu.Lock() // Windows unmaps the file to truncate it
	defer l.logFile.mu.Unlock()
	return eventfile.TruncateOrMark(l.f, l.end)
}

// Events returns an iterator over the events from the offset from on, in order, up to
// the end that the log has when the iteration begins. 0 is the offset of the first
// event, and [Log.Size] that of the next. Events verifies each event.
//
// An error ends the iteration, and has the offset that it has reached. It is a
// *[fs.PathError] with Op "events": [fs.ErrInvalid] for an offset outside the log, a
// *[CorruptError], [os.ErrClosed], or the system's. The iterator may be used again,
// and by several goroutines. The loop's body may append, and sees no event after
// Close.
//
// An offset inside an event is not detected if the data there look like an event. Do not
// use an offset from a client that may have chosen the data of events.
//
// [Event] describes the memory of the events. If another program truncates the file
// during the loop, touching lost data is a panic in the loop's body.
func (l *Log) Events(from int64) iter.Seq2[Event, error] {
	return l.events(from, everything)
}

// Since is [Log.Events] for the events that are not older than t. Times are not sorted
// if the clock was set back, so it looks at every event. It verifies only those that it
// yields: an older one costs a look at its header.
func (l *Log) Since(t time.Time) iter.Seq2[Event, error] {
	return l.events(0, since(t))
}
