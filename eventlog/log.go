package eventlog

import (
	"errors"
	"io"
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

// Log is a log that is open for writing. All methods may be called from any
// number of goroutines, Close included: what comes after that is an error for
// which errors.Is(err, [os.ErrClosed]) holds.
type Log struct {
	space
	o         Options
	clock     *clock
	recovered Recovery

	crowd atomic.Int32  // above 0 while several goroutines append much
	looks atomic.Bool   // one of them looks for mu
	turn  time.Duration // and this is for how long it lets others have it before

	// mu is held by who appends. It comes before the mu of space.
	mu     sync.Mutex
	gone   bool           // closed
	end    int64          // WriteOffset
	count  int64          // EventCount
	mem    []byte         // the file, all of it; nil where it is not mapped
	word   *atomic.Uint64 // WriteOffset in mem
	room   int64          // how long the file is
	most   int64          // how far events may go in that
	usable int64          // how far they may go without a call of grow

	flushed int64 // what Options.Flush has made durable
	buf     []byte

	failMu sync.Mutex // apart from mu, which a fill function that calls Sync has
	failed error      // the first failure of a flush
}

// Open opens the named log for appending, and creates it, with mode 0666 before
// the umask, where there is none. It may be called concurrently.
//
// There is one writer at a time: while somebody else has the log open, in this
// process or another, Open returns [ErrLocked]. The lock is flock(2), and
// LockFileEx on Windows; there is none on AIX, Solaris, Plan 9, js and wasip1,
// where whoever opens a log has to know that he is the only one. It is advisory,
// so readers, and programs that know nothing of it, are not kept out.
//
// Open verifies the events, as [Options].Verify says. A tail that is not whole, as
// a crash of the system may leave it, is cut off, and [Log.Recovery] says how
// much that was. A file that is damaged before valid events, or is no log, is a
// *[CorruptError] and stays as it is; [Repair] cuts it. Where valid events lie
// behind a page of zeros, nobody can tell a crash from damage: what is cut is kept
// in a file beside the log, which Recovery names, and is a *CorruptError if it is
// more than 1 GiB. Bytes behind WriteOffset,
// which no append has returned for, are dropped, but for events that EventCount
// has already: these are in the log if all of them are there.
//
// An error is a *[fs.PathError] with Op "open": one of these, [fs.ErrInvalid] for
// a negative number in o, [errors.ErrUnsupported] for what is not a regular file,
// or the system's. A log that is new is durable, with its directory entry where
// the system can do that, once Open returns.
func Open(name string, o Options) (*Log, error) {
	if !o.valid() {
		return nil, openError(name, fs.ErrInvalid)
	}
	l, err := openLocked(name, o, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := l.recover(false); err != nil {
		sys.Unlock(l.f)
		l.f.Close()
		return nil, l.fail("open", err)
	}
	l.flushed = l.end
	return l, nil
}

// openLocked opens the file and takes the lock.
func openLocked(name string, o Options, flag int) (*Log, error) {
	if err := regular(name); err != nil {
		return nil, err
	}
	// Flush.Bytes is ours: a File cannot count what is stored into its memory.
	how := mmapfile.Options{Flush: mmapfile.FlushPolicy{Interval: o.Flush.Interval}}
	f, err := how.OpenFile(name, os.O_RDWR|flag, 0o666)
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
	return &Log{space: space{f: f}, o: o, clock: newClock(o.Now)}, nil
}

// regular refuses what is there and is no file: opening a pipe may last for ever.
func regular(name string) error {
	if fi, err := os.Stat(name); err == nil && !fi.Mode().IsRegular() {
		return openError(name, errors.ErrUnsupported)
	}
	return nil
}

// create makes the empty file a log, and that durable.
func (l *Log) create() error {
	h := header{end: headerSize, start: l.clock.read()}
	if _, err := l.f.WriteAt(h.bytes(), 0); err != nil {
		l.f.Truncate(0)
		return err
	}
	if err := l.f.Sync(); err != nil {
		return err
	}
	syncDir(l.f.Name())
	l.end, l.count = h.end, 0
	l.attach(headerSize)
	return nil
}

// syncDir makes the directory entry of a new file durable, where the system can
// open and sync a directory.
func syncDir(name string) {
	if dir, err := os.Open(dirOf(name)); err == nil {
		dir.Sync()
		dir.Close()
	}
}

// dirOf is the directory of the file itself, where name is a link to it.
func dirOf(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	return filepath.Dir(name)
}

// Len returns the number of events in the log. After Close it is what it was then.
// It waits for appends that have begun, and so for fill functions.
func (l *Log) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Size returns how many bytes of the file are used, header included, which is
// where the next event will be. After Close it is what it was then. It waits as
// Len does.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Recovery returns what Open has found and cut.
func (l *Log) Recovery() Recovery { return l.recovered }

// Sync makes durable all events whose append returned before: no crash of the
// system loses them. Appends go on meanwhile. An error is a *[fs.PathError], also
// for a flush by [Options].Flush that failed before, and io.ErrUnexpectedEOF where
// somebody has cut events off.
func (l *Log) Sync() error {
	err := l.f.Sync()
	if failed := l.takeFailed(); err == nil {
		err = failed
	}
	if err == nil {
		err = l.inside("sync", l.reached)
	}
	return err
}

// reached is io.ErrUnexpectedEOF where the file does not hold its events. It asks
// the file for their end, since mu may be held by a fill function that calls Sync.
func (l *Log) reached() error {
	src := source{f: l.f}
	end, err := src.end()
	if err == nil {
		err = src.reaches(max(end, headerSize))
	}
	if err != nil {
		return l.fail("sync", err)
	}
	return nil
}

// takeFailed returns the first failure of a flush, once.
func (l *Log) takeFailed() (err error) {
	l.failMu.Lock()
	defer l.failMu.Unlock()
	err, l.failed = l.failed, nil
	return err
}

// flush makes durable what is due. Called with mu held.
func (l *Log) flush() {
	if limit := l.o.Flush.Bytes; limit == 0 || l.end-l.flushed < limit {
		return
	}
	if err := l.f.Sync(); err != nil {
		l.failMu.Lock()
		if l.failed == nil {
			l.failed = err
		}
		l.failMu.Unlock()
	}
	l.flushed = l.end // also after a failure, which trying again would hide (fsync(2), EIO)
}

// Close makes all events durable, cuts off the room that the file had for more,
// gives back the lock, and ends what [Event.Data] and fill functions were given.
// It waits for appends that have begun, and so for fill functions. Where a reader
// keeps the file from being cut (Windows), the room stays, as zeros, for the next
// writer. An error is a *[fs.PathError], io.ErrUnexpectedEOF where somebody has cut
// events off; that of a second Close has Op "close" and [os.ErrClosed].
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return l.fail("close", os.ErrClosed)
	}
	l.gone = true
	// In this order: a file that is as long as its WriteOffset is known to be
	// durable up to there.
	err := l.takeFailed()
	if serr := l.f.Sync(); serr != nil {
		err = serr
	} else if terr := l.trim(); terr != nil && (trims || errors.Is(terr, io.ErrUnexpectedEOF)) && err == nil {
		err = terr
	}
	l.mem, l.word = nil, nil
	sys.Unlock(l.f)
	if cerr := l.close(); err == nil {
		err = cerr
	}
	return err
}

// trim cuts off what is behind the last event.
func (l *Log) trim() error {
	switch size, err := l.size(); {
	case err != nil || size == l.end:
		return err
	case size < l.end: // somebody has cut it
		return l.fail("close", io.ErrUnexpectedEOF)
	}
	return l.truncate(l.end)
}

// Events returns an iterator over the events that are in the log when the
// iteration begins, from the one at the offset from on, in order; 0 is the first,
// and [Log.Size] none yet. It verifies each. An error is the last that it yields,
// with the offset where it came to: a *[fs.PathError] with Op "events" and
// [fs.ErrInvalid] for an offset outside, a *[CorruptError], [os.ErrClosed], or
// the system's. The iterator may be used again, and by several goroutines.
//
// Appends go on meanwhile, in the body of the loop as well. For the memory of the
// events see [Event]. Should somebody cut the file under the loop, touching what is
// gone is a panic in its body, and no end of the process.
func (l *Log) Events(from int64) iter.Seq2[Event, error] {
	return l.events(from, everything)
}

// Since is [Log.Events] for all events whose Time is not before t. Times are not
// sorted where the clock was set back, so it looks at each, but verifies only
// those that it yields: an older one costs a look at its header.
func (l *Log) Since(t time.Time) iter.Seq2[Event, error] {
	return l.events(0, since(t))
}
