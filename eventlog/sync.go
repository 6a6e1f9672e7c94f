package eventlog

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/periodic"
)

// flusher makes events durable for groups of goroutines. The first that asks is the leader,
// and flushes. The goroutines that ask meanwhile wait, and one of them flushes for all.
type flusher struct {
	count atomic.Uint64 // how often the log was flushed
	stop  func()        // ends the goroutine of Options.Flush.Interval

	mu      logdisk.Mutex
	done    chan struct{} // closed once the leader's flush has ended
	busy    bool          // there is a leader
	waiters int           // goroutines that wait for it
	shared  bool          // some waited for the last one
}

// Sync makes durable all events whose append has returned: a crash of the system does not lose
// them. Appends continue meanwhile. Calls from several goroutines share flushes. If all events
// are durable already, Sync makes no system call.
//
// An error is a *[fs.PathError] with Op "sync": the system's, also that of a flush that
// Options.Flush asked for, [os.ErrClosed], or [io.ErrUnexpectedEOF] if another program has
// truncated the log. After a flush has failed, the system may have dropped what it should have
// made durable (fsync(2)). So every later Sync, AppendSync and Close returns the error of that
// flush. The log must be opened again, which finds what the disk has.
func (l *Log) Sync() error {
	if l.ended.Load() {
		return l.fail("sync", os.ErrClosed)
	}
	return l.syncTo(l.published.Load())
}

// Durable returns the offset before which all events are known to be durable. It makes no
// system call.
func (l *Log) Durable() int64 { return l.synced.end.Load() }

// syncTo returns once all events before end, which are visible, are durable.
func (l *Log) syncTo(end int64) error {
	fl := &l.flush
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for {
		switch err := l.synced.failed(); {
		case err != nil:
			return err
		case l.Durable() >= end: // perhaps by Close
			return nil
		case l.ended.Load():
			return l.fail("sync", os.ErrClosed)
		case fl.busy:
			fl.waiters++
			done := fl.done
			fl.mu.Unlock()
			wait(done)
			fl.mu.Lock()
			fl.waiters--
			continue
		}
		if err := l.lead(); err != nil {
			return err
		}
	}
}

// flushNow flushes the log, even if all events are durable.
func (l *Log) flushNow() error {
	fl := &l.flush
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for fl.busy {
		done := fl.done
		fl.mu.Unlock()
		wait(done)
		fl.mu.Lock()
	}
	return l.lead()
}

// lead flushes the log. It is called with flush.mu held, and without a leader.
func (l *Log) lead() error {
	fl := &l.flush
	fl.busy, fl.done = true, make(chan struct{})
	shared := fl.shared
	fl.mu.Unlock()
	if shared {
		// The goroutines that the last flush woke append first: of 16 goroutines a group
		// is 12 instead of 8, and takes 0.66 of the time for an event.
		runtime.Gosched()
	}
	end := l.published.Load()
	err := l.flushFile()
	if err == nil {
		err = l.whileOpen("sync", l.whole)
	}
	if err == nil {
		l.synced.advance(end, 0)
	}
	fl.mu.Lock()
	fl.busy = false
	fl.shared = fl.waiters > 0
	close(fl.done)
	return err
}

// flushFile is fdatasync(2), or what comes closest to it. It is called without flush.mu.
func (l *Log) flushFile() error {
	began := time.Now()
	err := l.f.FlushData()
	if err != nil {
		err = l.fail("sync", err)
	}
	switch {
	case err == nil:
		l.flush.count.Add(1)
		stats.flushes.since(began)
	case !errors.Is(err, os.ErrClosed):
		l.synced.fail(err)
	}
	return err
}

// whole returns io.ErrUnexpectedEOF if the file was truncated by another program.
func (l *Log) whole() error {
	for {
		minLen := l.minFileLen.Load()
		err := l.reaches(minLen)
		switch {
		case err == nil:
			return nil
		case minLen == l.minFileLen.Load(): // else this Log has truncated it
			return l.fail("sync", err)
		}
	}
}

// reaches returns io.ErrUnexpectedEOF if the file is shorter than end. The file cannot be
// closed meanwhile.
func (l *Log) reaches(end int64) error {
	size, err := l.f.Length()
	if err == nil && size < end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// startFlusher begins to keep Options.Flush. All events are durable now.
func (l *Log) startFlusher() {
	l.tally = tally{l.count, l.end}
	l.synced.reset(l.end, 0)
	l.flush.stop = func() {}
	if interval := l.o.Flush.Interval; interval > 0 {
		l.flush.stop = periodic.Start(l, interval, func(l *Log) { l.Sync() }) // which keeps the error
	}
}
