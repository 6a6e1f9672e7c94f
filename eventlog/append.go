package eventlog

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
)

// Append appends an event with the data p, and returns its offset. p must not change during
// the call; Append does not keep it. It does not allocate. If p is empty, the event has no
// data.
//
// When Append has returned, the event is in the file: every reader sees it, and it outlives
// the process. After [Log.Sync] it also outlives a crash of the system. Its Time is that of
// the call. Events of several goroutines are in the order in which they became visible; their
// times may be out of order by the duration of a call.
//
// After an error, which is a *[fs.PathError] with Op "append", nothing was appended. Append
// fails with [ErrFull], [fs.ErrInvalid] for data of 4 GiB or more, [os.ErrClosed], the
// system's error if the file cannot grow (the disk is full), or [io.ErrUnexpectedEOF] if
// another program has truncated the log. The next append tries again. A truncation within the
// event's page of memory, or after it, is not detected here, but by Sync and Close.
func (l *Log) Append(p []byte) (off int64, err error) {
	return l.append(l.clock.read(), 0, [][]byte{p}, false)
}

// append appends an event for each of ps. sync says that they will be flushed at once. sum is the checksum of one
// event, if that is known.
func (l *Log) append(now int64, sum uint32, ps [][]byte, sync bool) (off int64, err error) {
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	total, err := sizeOf(ps)
	if err != nil {
		return 0, err
	}
	// The checksum costs the most. It is computed without the lock if another append has
	// it, and otherwise of the copy, which is in the cache then, and which p cannot change.
	if !l.mu.TryLock() {
		if len(ps) == 1 && sum == 0 {
			sum = eventfile.NewEntry(now, ps[0]).Sum
		}
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
		return off, l.write(now, sum, ps)
	}
	at := off
	for _, p := range ps {
		b := l.mem[at:][:eventfile.EntrySize+len(p)]
		copy(b[eventfile.EntrySize:], p)
		e := eventfile.Entry{Time: now, Size: uint32(len(p)), Sum: sum}
		if sum == 0 {
			e = eventfile.NewEntry(now, b[eventfile.EntrySize:])
		}
		e.Put(b) // last, so that no page ever has the entry of an event that is not whole
		at = e.Next(at)
	}
	return off, l.publish(at, int64(len(ps)), false)
}

// sizeOf returns the number of bytes that events take.
func sizeOf(ps [][]byte) (total int64, err error) {
	for _, p := range ps {
		if int64(len(p)) > eventfile.MaxData {
			return 0, fs.ErrInvalid
		}
		if total += eventfile.EntrySize + int64(len(p)); total < 0 {
			return 0, ErrFull
		}
	}
	return total, nil
}

// AppendSync is like [Log.Append], but returns once the event is durable. Calls from several
// goroutines share flushes.
//
// If the error has Op "sync", the flush failed, as [Log.Sync] describes it, and the event is
// in the log, at off.
func (l *Log) AppendSync(p []byte) (off int64, err error) {
	if off, err = l.append(l.clock.read(), 0, [][]byte{p}, true); err != nil {
		return 0, err
	}
	return off, l.syncTo(off + eventfile.EntrySize + int64(len(p)))
}

// AppendBatch is like [Log.Append] for several events: it appends one for each of ps, and
// returns the offset of the first. Readers see all of them at once, or none, also if the
// process is killed during the call. A crash of the system before the next [Log.Sync] may
// leave some of them. They have the same Time. Without ps, AppendBatch does nothing.
func (l *Log) AppendBatch(ps ...[]byte) (off int64, err error) {
	return l.append(l.clock.read(), 0, ps, false)
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
	if l.mem != nil && !(call && writesWords) {
		le.PutUint64(l.mem[eventfile.AtEventCount:], uint64(count))
		atomic.StoreUint64(l.word, eventfile.LittleWord(uint64(end)))
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
		l.flushNow() // else a crash may bring back what has failed, beside what is appended next
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
