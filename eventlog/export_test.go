package eventlog

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/sys"
)

// Rewind makes l empty without touching its file, so that the next pass stores into memory that was touched before.
func Rewind(l *Log) {
	l.tallyUp()
	l.end, l.count, l.tally = eventfile.HeaderSize, 0, tally{0, eventfile.HeaderSize}
	l.published.Store(eventfile.HeaderSize)
	l.writeHeader(eventfile.HeaderSize, 0)
	l.synced.reset(eventfile.HeaderSize, 0)
}

// Maps reports whether this build maps files.
const Maps = sys.Maps

// Flushes returns how often l was flushed.
func Flushes(l *Log) uint64 { return l.flush.count.Load() }

// HoldFlush makes flushes of l wait, as for one that runs, until release is called.
func HoldFlush(l *Log) (release func()) {
	l.flush.mu.Lock()
	defer l.flush.mu.Unlock()
	l.flush.busy, l.flush.done = true, make(chan struct{})
	return func() {
		l.flush.mu.Lock()
		defer l.flush.mu.Unlock()
		l.flush.busy = false
		close(l.flush.done)
	}
}

// FlushTo has a flush of l end at an offset while HoldFlush holds the next.
func FlushTo(l *Log, end int64) {
	l.flush.mu.Lock()
	defer l.flush.mu.Unlock()
	l.synced.advance(end, 0)
	close(l.flush.done)
	l.flush.done = make(chan struct{})
}

// Waiters returns the number of goroutines that wait for a flush of l.
func Waiters(l *Log) int {
	l.flush.mu.Lock()
	defer l.flush.mu.Unlock()
	return l.flush.waiters
}

// Visible returns the end of the log without taking the lock of appends.
func Visible(l *Log) int64 { return l.published.Load() }

// Fd returns the descriptor of l.
func Fd(l *Log) int { return int(l.f.(interface{ Fd() uintptr }).Fd()) }

// Attach maps the file of l, which has size bytes, as Open does.
func Attach(l *Log, size int64) { l.attach(size) }

// DirOf returns the directory that is synced for a new file.
var DirOf = dirOf

// Trace calls fn for each step of the Stream in dir that a crash may follow: op is "sync" or "close"
// for the content of a file, "syncdir" for the names, or another for a change.
func Trace(dir string, fn func(op, name string)) { traces.Store(dir, fn) }

var traces sync.Map // functions by directory

func init() {
	hooks.trace = func(dir, op, name string) {
		if fn, ok := traces.Load(dir); ok {
			fn.(func(op, name string))(op, name)
		}
	}
}

// WaitJobs waits for what s does in the background.
func WaitJobs(s *Stream) { s.jobs.Wait() }

// HoldAppends makes appends to s wait, as for one that runs, until release is called.
func HoldAppends(s *Stream) (release func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// Indexed returns the number of events in the index of the last segment.
func Indexed(s *Stream) int64 { return s.active.seg.index.Look(0).N }

// ActiveLog returns the log of the last segment.
func ActiveLog(s *Stream) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active.log
}

// hookedDisk is the real disk, with calls that tests let fail.
type hookedDisk struct {
	logdisk.Disk
	sync func(name string) error // before each flush: of a directory, or of the data of a file
}

type hookedFile struct {
	logdisk.File
	d hookedDisk
}

func (d hookedDisk) OpenFile(name string, flag int, perm fs.FileMode) (logdisk.File, error) {
	f, err := d.Disk.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return hookedFile{f, d}, nil
}

func (f hookedFile) FlushData() error { return cmp.Or(f.d.sync(f.Name()), f.File.FlushData()) }
func (f hookedFile) SyncNames() error { return cmp.Or(f.d.sync(f.Name()), f.File.SyncNames()) }

// FailMeta makes the next n changes of the bounds of s fail after they were written, until restore is
// called.
func FailMeta(s *Stream, n int) (restore func()) {
	old := s.file
	s.file = hookedFile{old, hookedDisk{sync: func(string) error {
		if n > 0 {
			n--
			return syscall.EIO
		}
		return nil
	}}}
	return func() { s.file = old }
}

// FailSyncDir makes the next flush of a directory fail, and counts all, until restore is called.
func FailSyncDir(count *int) (restore func()) {
	return OnSyncDir(func(string) error {
		if *count++; *count == 1 {
			return syscall.EIO
		}
		return nil
	})
}

// OnSyncDir calls fn before each flush of a directory, until restore is called.
func OnSyncDir(fn func(dir string) error) (restore func()) {
	return logdisk.Mount("", hookedDisk{logdisk.Real, func(name string) error {
		if fi, err := os.Stat(name); err == nil && fi.IsDir() {
			return fn(name)
		}
		return nil
	}})
}

// FailDir makes every flush of the directory fail.
func FailDir(s *Stream) { s.dirf.Close() }

// EnterAfter has a loop over r at number seq open its segment, after the bounds were checked
// and between was called.
func EnterAfter(r *StreamReader, seq int64, between func()) (bool, error) {
	sc := newStreamCursor(r, everything)
	sc.seq = seq
	defer sc.leave()
	if err := sc.check(); err != nil {
		return false, err
	}
	between()
	entered, err := sc.tryEnter()
	if goesOn := sc.hand(err, func(_ Event, yielded error) bool { err = yielded; return true }); goesOn {
		err = nil
	}
	return entered, err
}

// CopyAfter is s.Copy, and calls between once it knows what to copy.
func CopyAfter(s *Stream, dir string, between func()) error {
	s.mu.Lock()
	at, b := s.mark(), *s.state.Load()
	s.mu.Unlock()
	between()
	return copyStream(context.Background(), s, dir, nil, b, s.segments(), at.next, at.end)
}

// FirstOf returns the number in the name of a segment.
func FirstOf(name string) int64 { return eventfile.ParseSegmentName(filepath.Base(name)) }

// DropCache has the system forget a file that nothing maps, if it can.
func DropCache(t testing.TB, name string) {
	f, err := logdisk.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stored, err := f.Stored()
	if err != nil {
		t.Fatal(err)
	}
	closeStored(stored)
}

// IndexedEvents returns the number of events in the indexes of r.
func IndexedEvents(r *StreamReader) (n int64) {
	for _, seg := range r.segments() {
		n += seg.index.Look(0).N
	}
	return n
}

// BoundIndexes sets the number of points that indexes have, until restore is called.
func BoundIndexes(points int) (restore func()) {
	old := maxPoints
	maxPoints = points
	return func() { maxPoints = old }
}

// IndexPoints returns the number of points of the indexes of s, without the last.
func IndexPoints(s *Stream) (n int) {
	list := s.segments()
	for _, seg := range list[:len(list)-1] {
		n += seg.index.Points()
	}
	return n
}

// AppendFunc is Append of n bytes that fill stores, for what others see meanwhile.
func AppendFunc(l *Log, n int, fill func(p []byte) error) (off int64, err error) {
	l.mu.Lock()
	defer l.unlock()
	off = l.end
	end := off + eventfile.EntrySize + int64(n)
	if err := l.need(end); err != nil {
		return 0, err
	}
	b := make([]byte, end-off)
	if l.mem != nil {
		b = l.mem[off:end:end]
	}
	if err := fill(b[eventfile.EntrySize:]); err != nil {
		clear(b)
		return 0, err
	}
	if l.mem == nil {
		return off, l.write(l.clock.read(), 0, [][]byte{b[eventfile.EntrySize:]})
	}
	e := eventfile.NewEntry(l.clock.read(), b[eventfile.EntrySize:])
	e.Put(b)
	return off, l.publish(end, 1, false)
}
