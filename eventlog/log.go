package eventlog

import (
	"cmp"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Log is a log that is open for writing. Its methods may be called from any number of
// goroutines, including Close: a call after Close fails with [os.ErrClosed].
type Log struct {
	logFile
	o         Options
	clock     *clock
	recovered Recovery
	start     int64 // StartTimestamp

	waiting atomic.Int32 // appends that wait for mu
	synced  durability
	flush   flusher

	// For goroutines that do not hold mu.
	published  atomic.Int64 // copy of end
	minFileLen atomic.Int64 // copy of fileLen; another program has truncated a file that is shorter

	// Lock order: mu, flush.mu, synced.mu; mu of logFile comes after mu, too. A flush runs without
	// flush.mu, and without mu unless Close asks for it, or an append that has failed.

	mu            logdisk.Mutex // held by an append
	closing       bool          // Close was called
	end           int64         // WriteOffset
	count         int64         // EventCount
	tally         tally         // what Stats has of count and end
	mem           []byte        // the whole file; nil if it is not mapped
	word          *uint64       // WriteOffset in mem
	fileLen       int64         // length of the file
	appendLimit   int64         // largest end of events without a longer file
	preparedLimit int64         // largest end of events without a call of grow
	stage         stage         // events that one system call will write
	words         []byte        // for put

	direct int    // number of appends to write by system call: see useCalls
	seen   uint64 // flush.count when direct was set
}

// Open opens the named log for appending. If there is none, it creates the log with mode 0666
// before the umask. It may be called concurrently.
//
// A log has one writer: Open fails with [ErrLocked] while the log is open for writing, in this
// process or another. The lock is advisory. AIX, Solaris, Plan 9, js and wasip1 have none;
// there the program must ensure that there is one writer.
//
// Open verifies the events, as Options.Verify says. A crash of the system may leave an
// incomplete tail: Open truncates it, and [Log.Recovery] says how much that was. If the tail
// may have valid events, Open first saves it in a file beside the log. If a log is damaged
// before valid events, or a file is no log, Open returns a *[CorruptError] and does not change
// the file. [Repair] truncates it.
//
// Other errors are *[fs.PathError] with Op "open": Open fails with [fs.ErrInvalid] for a
// negative number in o, [errors.ErrUnsupported] for what is not a regular file, or the
// system's error. When Open returns, all events are durable. So is a new log's directory
// entry, if the system can sync a directory, and the process may read it.
func Open(name string, o Options) (*Log, error) {
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
			l.release()
		}
	}()
	if err := l.recover(l.examine(eventfile.Rules{Verify: o.Verify, Lengths: []int64{o.MaxSize}})); err != nil {
		return nil, l.fail("open", err)
	}
	l.startFlusher()
	opened = true
	return l, nil
}

// release unlocks and closes the file.
func (l *Log) release() error {
	l.f.Unlock()
	return l.f.Close()
}

// openLocked opens the file and locks it.
func openLocked(name string, o Options, flag int) (*Log, error) {
	f, err := lockFile(name, name, flag)
	if err != nil {
		return nil, err
	}
	return &Log{logFile: logFile{f: f}, o: o, clock: newClock(o.Now)}, nil
}

// create makes the file, which has no events, a log, and makes that durable. Its name comes first: if the process
// ends meanwhile, the file has none for the next Open to do this again.
func (l *Log) create() error {
	now := l.clock.read()
	if err := logdisk.SyncDir(dirOf(l.f.Name())); err != nil {
		return err
	}
	if err := l.begin(now, false); err != nil {
		return err
	}
	return l.f.Flush()
}

// begin writes the header of a log without events. If prepared is set, the file consists of zeros that were written.
func (l *Log) begin(now int64, prepared bool) error {
	size, err := l.size()
	if err == nil && size > eventfile.HeaderSize && !prepared {
		// Durably, so that a second crash does not bring back what the first has left. A
		// reader may have mapped the file, but has seen no event in it.
		if err = eventfile.TruncateOrZero(l.f, eventfile.HeaderSize, size); err == nil {
			err = l.f.Flush()
		}
	}
	h := eventfile.Header{End: eventfile.HeaderSize, Start: now}
	if err == nil {
		if _, err = l.f.WriteAt(h.Bytes(), 0); err != nil && !prepared {
			l.f.Truncate(0)
		}
	}
	if err == nil {
		size, err = l.size()
	}
	if err != nil {
		return err
	}
	l.end, l.count, l.start = h.End, 0, h.Start
	l.attach(size)
	if prepared {
		l.preparedLimit = l.appendLimit
	}
	return nil
}

// dirOf returns the directory of the file itself, if name is a link to it.
func dirOf(name string) string {
	if target, err := logdisk.RealPath(name); err == nil {
		name = target
	}
	return filepath.Dir(name)
}

// Len returns the number of events in the log, also after Close. It waits for appends in
// progress.
func (l *Log) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Size returns the number of bytes that the log uses, including the header. It is the offset
// of the next event. Like Len, it waits for appends in progress, and may be called after
// Close.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Recovery returns what Open has found and truncated.
func (l *Log) Recovery() Recovery { return l.recovered }

// Close makes all events durable, truncates the file after the last of them, and unlocks it.
// Event.Data must not be used any more. Close waits for appends in progress. After the last
// event it writes a mark that the log was closed, which may lie past MaxSize. On Windows, a
// file that a reader has open is not truncated: there are zeros before the mark.
//
// An error is a *[fs.PathError]: that of a flush, after which the file is not truncated, or
// [io.ErrUnexpectedEOF] if another program has truncated the log. A second Close fails with
// [os.ErrClosed].
func (l *Log) Close() error { return l.closeMarked(true) }

// closeMarked is Close. Without inOrder it flushes nothing, and the file does not count as closed.
func (l *Log) closeMarked(inOrder bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return l.fail("close", os.ErrClosed)
	}
	l.closing = true
	l.tallyUp()
	l.flush.stop()
	err := error(nil)
	if inOrder {
		if err = l.syncTo(l.end); err == nil { // first: the mark says that all events are durable
			err = l.mark()
		}
	}
	l.mem, l.word = nil, nil
	l.f.Unlock()
	err = cmp.Or(err, l.close())
	return err
}

// mark truncates the file after the last event, and marks it closed. A reader that has the file mapped does not
// touch what is after WriteOffset, which has never been larger.
func (l *Log) mark() error {
	if err := l.whole(); err != nil {
		return err
	}
	l.logFile.mu.Lock() // Windows unmaps the file to truncate it
	defer l.logFile.mu.Unlock()
	return eventfile.Close(l.f, eventfile.Header{End: l.end, Count: l.count, Start: l.start}, l.end)
}

// Events returns an iterator over the events from the offset from on, in order, up to the end
// that the log has when the iteration begins. The first event has offset 0, and the next one
// will have [Log.Size]. Events verifies each event.
//
// An error ends the iteration, and comes with the offset that was reached. It is a
// *[fs.PathError] with Op "events": Events fails with [fs.ErrInvalid] for an offset outside
// the log, a *[CorruptError], [os.ErrClosed], or the system's error. The iterator may be used
// again, and by several goroutines. The loop's body may append. The loop sees no event after
// Close.
//
// An offset inside an event is not detected if the data there look like an event. Do not use
// an offset from a client that may have chosen the data of events.
//
// [Event] describes the memory of the events. If another program truncates the file during the
// loop, an access to lost data is a panic in the loop's body.
func (l *Log) Events(from int64) iter.Seq2[Event, error] {
	return l.events(from, everything)
}

// Since is like [Log.Events], but for the events that are not older than t. Because times are
// out of order if the clock was set back, it reads the header of every event. It verifies only
// the events that it yields.
func (l *Log) Since(t time.Time) iter.Seq2[Event, error] {
	return l.events(0, since(t))
}
