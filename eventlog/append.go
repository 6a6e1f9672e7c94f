package eventlog

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
)

// Append appends an event with the data p, and returns its offset. It does not keep p,
// which must not change during the call. It does not allocate. An empty p is an event
// without data.
//
// When Append has returned, the event is in the file: every reader sees it, and it
// outlives the process. After [Log.Sync] it also outlives a crash of the system. Its Time
// is that of the call. Events of several goroutines are in the order in which they became
// visible. Their times may be out of order by the duration of a call.
//
// An error is a *[fs.PathError] with Op "append", and nothing was appended: [ErrFull],
// [fs.ErrInvalid] for data of 4 GiB or more, [os.ErrClosed], the system's if the file
// cannot grow (the disk is full), or io.ErrUnexpectedEOF if another program has truncated
// the log. The next append tries again. A truncation within the event's page of memory,
// or after it, is not detected here, but by Sync and Close.
func (l *Log) Append(p []byte) (off int64, err error) { return l.append(p, nil, false) }

// append is Append. sync says that the event will be flushed at once. If given is not nil, it is
// the entry of the event, or has its time alone.
func (l *Log) append(p []byte, given *eventfile.Entry, sync bool) (off int64, err error) {
	var e eventfile.Entry
	if given != nil {
		e = *given
	} else {
		e.Time = l.clock.read() // which may panic
	}
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	if int64(len(p)) > eventfile.MaxData {
		return 0, fs.ErrInvalid
	}
	// The checksum costs the most. It is computed without the lock if another append has
	// it, and otherwise of the copy, which is in the cache then, and which p cannot change.
	free := l.mu.TryLock()
	sum := e.Sum == 0
	if !free {
		if sum {
			e, sum = eventfile.NewEntry(e.Time, p), false
		}
		l.wait()
	}
	c.locked = true
	off = l.end
	end := off + eventfile.EntrySize + int64(len(p))
	if err := l.need(end); err != nil {
		return 0, err
	}
	c.dirty = end
	if l.useCalls(sync) {
		return off, c.write(e, p)
	}
	b := l.mem[off:end]
	copy(b[eventfile.EntrySize:], p)
	if sum {
		e = eventfile.NewEntry(e.Time, b[eventfile.EntrySize:])
	}
	e.Put(b)
	return off, l.publish(end, 1, false)
}

// AppendSync is [Log.Append], and returns once the event is durable. Calls from several
// goroutines share flushes.
//
// An error with Op "sync" is one of the flush, as [Log.Sync] describes it. Then the event
// is in the log, at off.
func (l *Log) AppendSync(p []byte) (off int64, err error) {
	if off, err = l.append(p, nil, true); err != nil {
		return 0, err
	}
	return off, l.syncTo(off + eventfile.EntrySize + int64(len(p)))
}

// AppendBatch appends an event for each of ps, and returns the offset of the first. Readers
// see all of them at once, or none, also if the process is killed during the call. A crash
// of the system before the next [Log.Sync] may leave some of them. They have the same Time.
// Without ps AppendBatch does nothing. Otherwise it is like [Log.Append].
func (l *Log) AppendBatch(ps ...[]byte) (off int64, err error) { return l.appendBatch(ps, false) }

// appendBatch is AppendBatch. sync says that the events will be flushed at once.
func (l *Log) appendBatch(ps [][]byte, sync bool) (off int64, err error) {
	now := l.clock.read()
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	total := int64(0)
	for _, p := range ps {
		if int64(len(p)) > eventfile.MaxData {
			return 0, fs.ErrInvalid
		}
		if total += eventfile.EntrySize + int64(len(p)); total < 0 {
			return 0, ErrFull
		}
	}
	if !l.mu.TryLock() {
		l.wait()
	}
	c.locked = true
	off = l.end
	if len(ps) == 0 && !l.closing {
		return off, nil
	}
	if err := l.need(off + total); err != nil {
		return 0, err
	}
	c.dirty = off + total
	if l.useCalls(sync) {
		return off, c.writeBatch(now, ps)
	}
	at := off
	for _, p := range ps {
		b := l.mem[at:][:eventfile.EntrySize+len(p)]
		copy(b[eventfile.EntrySize:], p)
		e := eventfile.NewEntry(now, b[eventfile.EntrySize:])
		e.Put(b) // last, so that no page ever has the entry of an event that is not whole
		at = e.Next(at)
	}
	return off, l.publish(at, int64(len(ps)), false)
}

// need makes sure that events can end at end. It is called with mu held.
func (l *Log) need(end int64) error {
	if l.closing {
		return os.ErrClosed
	}
	if end <= l.preparedLimit && end >= 0 {
		return nil
	}
	if end < 0 {
		return ErrFull
	}
	return l.grow(end)
}

// publish makes visible the k events that were appended up to end. The count goes first:
// when a reader sees the offset, everything before it is there. With call it writes by
// system call.
func (l *Log) publish(end, k int64, call bool) error {
	count := l.count + k
	// A file as long as its WriteOffset is known to be durable up to there. After a crash it
	// may have the length that it had before.
	if end == l.fileLen || end == l.prevFileLen {
		if err := l.flushFile(); err != nil {
			return err
		}
	}
	if l.mem != nil && !(call && writesWords) {
		le.PutUint64(l.mem[eventfile.AtEventCount:], uint64(count))
		l.word.Store(eventfile.LittleWord(uint64(end)))
	} else if err := l.writeHeader(end, count); err != nil {
		return err
	}
	l.count, l.end = count, end
	l.published.Store(end)
	if call || count-l.tally.count >= tallyEvery {
		l.tallyUp()
	}
	return nil
}

// call is one append.
type call struct {
	l      *Log
	old    bool // what SetPanicOnFault returned
	locked bool
	dirty  int64 // the file may have been changed from the end of the log to here
}

// wait takes mu, which another append has.
func (l *Log) wait() {
	l.waiting.Add(1)
	l.mu.Lock()
	l.waiting.Add(-1)
}

// unlock releases mu. A goroutine that appends all the time would take it again for the
// rest of its time slice, 10 ms, before one that waits runs.
func (l *Log) unlock() {
	l.mu.Unlock()
	if l.waiting.Load() > 0 {
		runtime.Gosched()
	}
}

// done ends an append, also one that panics.
func (c *call) done(off *int64, err *error) {
	r := recover()
	if r != nil || *err != nil {
		c.failed(r, err)
		*off = 0
	}
	debug.SetPanicOnFault(c.old)
	if c.locked {
		end := c.l.end
		c.l.unlock()
		due := c.l.o.Flush.Bytes
		if due > 0 && *err == nil && r == nil && end-c.l.Durable() >= due {
			c.l.syncTo(end) // Sync and Close return its error
		}
	}
	if r != nil && *err == nil {
		panic(r)
	}
}

// failed clears what an append that failed has stored. It makes err the error that the
// caller gets, which is nil for a panic that continues.
func (c *call) failed(r any, err *error) {
	l := c.l
	if c.locked && c.dirty > l.end {
		l.clear(c.dirty)
	}
	if r != nil && guard.IsFault(r, true) {
		*err = l.faultCause()
	}
	if *err != nil {
		*err = l.fail("append", *err)
	}
}

// clear makes zeros of what an append has stored from the end of the log to here, if it can.
func (l *Log) clear(to int64) {
	if l.mem == nil {
		l.undo(to)
		return
	}
	defer func() { recover() }() // the file was truncated
	clear(l.mem[l.end:to])
}
