package eventlog

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Append appends an event with the data p, and returns its offset. It does not
// keep p, which must not change meanwhile, and does not allocate. An empty p is
// an event without data.
//
// When Append has returned, the event is in the file: every reader sees it, and
// it outlives this process however that ends. It outlives a crash of the system
// once [Log.Sync] has returned. Its Time is that of the call; so where several
// goroutines append, the order of the events is that in which they became
// visible, and that of their times may be another by as much as a call takes.
//
// An error is a *[fs.PathError] with Op "append", and nothing was appended:
// [ErrFull], [fs.ErrInvalid] for data of 4 GiB or more, [os.ErrClosed], the
// system's where the file could not grow (the disk is full), or
// io.ErrUnexpectedEOF where somebody has cut the file. The log stays usable, and
// the next append tries again. A cut within the page of memory that the event
// goes to is not seen here, since nothing fails: Sync and Close tell.
func (l *Log) Append(p []byte) (off int64, err error) {
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	if int64(len(p)) > maxData {
		return 0, fs.ErrInvalid
	}
	now := l.clock.read()
	// The checksum, which costs the most, is made after the copy, while the memory
	// catches up with it; or before, where there is another append: outside of the lock.
	var e entry
	much := len(p) >= muchData
	free := !much || l.crowd.Load() <= 0
	if free && !l.mu.TryLock() {
		free = false
		if much {
			l.crowd.Store(crowdLasts)
		}
	}
	if !free {
		e = newEntry(now, p)
		if !l.mu.TryLock() {
			l.lockSoon(much)
		} else if much {
			l.crowd.Add(-1)
		}
	}
	c.locked = true
	off = l.end
	end := off + entrySize + int64(len(p))
	if err := l.need(end); err != nil {
		return 0, err
	}
	if b := l.mem; b != nil {
		c.touched = end
		b = b[off:end]
		copy(b[entrySize:], p)
		if free {
			e = newEntry(now, p)
		}
		e.put(b)
		return off, l.publish(end, 1)
	}
	if free {
		e = newEntry(now, p)
	}
	if err := l.write(e, p, off); err != nil {
		return 0, err
	}
	return off, l.publish(end, 1)
}

// lockSoon takes mu, which another append has, where to sleep until it is free would
// take longer than the append, some microseconds, and to wake who sleeps no less. So
// one of those who wait looks for mu, unless it may be held for a flush. Of large
// appends the other's copy takes about as long as the checksum has taken here. Of small
// ones it would take longer to move all that mu guards to this core and back than to
// append: the other has its turn first.
func (l *Log) lockSoon(much bool) {
	if l.o.Flush.Bytes == 0 && l.looks.CompareAndSwap(false, true) {
		defer l.looks.Store(false)
		// One core has to go to who has mu. (To ask takes a lock of all goroutines.)
		if runtime.GOMAXPROCS(0) > 1 && (!much && l.lockAfterTurn() || l.lookForLock()) {
			return
		}
	}
	l.mu.Lock()
}

func (l *Log) lookForLock() bool {
	for range looksMost {
		if l.mu.TryLock() {
			return true
		}
		for range 200 { // leaves the others the cache line of mu for a while
		}
	}
	return false
}

// lockAfterTurn leaves the others alone for a while, and tries to take mu then. The
// while is longer each time that mu is taken after it, and shorter each time that it
// is free: then the others do not just append. Called by who has looks.
func (l *Log) lockAfterTurn() bool {
	turn, began := max(l.turn, turnLeast), time.Now()
	for looks := 0; time.Since(began) < turn && looks < 2000; looks++ { // some clocks stand still for long
	}
	if l.mu.TryLock() {
		l.turn = turn / 2
		return true
	}
	l.turn = min(2*turn, turnMost)
	return false
}

const (
	crowdLasts = 100     // large appends for which others are expected, once there were some
	muchData   = 4 << 10 // bytes
	looksMost  = 400     // in all some 55 µs

	turnLeast = 50 * time.Nanosecond
	turnMost  = 50 * time.Microsecond
)

// AppendBatch appends an event for each of ps, and returns the offset of the
// first. Readers see all of them at once, or none, also if the process is killed
// within the call; and so does the next Open after a crash of the system unless
// that came before the next Sync: then it may cut a batch in two. They have the
// same Time. Without ps it does nothing. For the rest see [Log.Append].
func (l *Log) AppendBatch(ps ...[]byte) (off int64, err error) {
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	total := int64(0)
	for _, p := range ps {
		if int64(len(p)) > maxData {
			return 0, fs.ErrInvalid
		}
		if total += entrySize + int64(len(p)); total < 0 {
			return 0, ErrFull
		}
	}
	now := l.clock.read()
	c.lock()
	off = l.end
	if len(ps) == 0 && !l.gone {
		return off, nil
	}
	if err := l.need(off + total); err != nil {
		return 0, err
	}
	at := off
	for _, p := range ps {
		e := newEntry(now, p)
		end := e.next(at)
		if l.mem != nil {
			c.touched = end
			b := l.mem[at:end]
			e.put(b)
			copy(b[entrySize:], p)
		} else if err := l.write(e, p, at); err != nil {
			return 0, err
		}
		at = end
	}
	return off, l.publish(at, int64(len(ps)))
}

// AppendFunc appends an event of n bytes that fill stores, into the file's own
// memory where that is mapped. They are zeros before. An error of fill is
// returned as it is, and leaves no trace, as does a panic, which goes on. All
// other appends wait for fill, as do Len, Size and Close: it must not call
// methods of the Log but Sync, nor keep p. A negative n is [fs.ErrInvalid]. For
// the rest see [Log.Append].
//
// What a fill stored before it failed may have gone to the disk already. After a
// crash of the system before the next Sync such a page can come back between newer
// events, which looks like damage: Open refuses the log then, and Repair cuts it.
func (l *Log) AppendFunc(n int, fill func(p []byte) error) (off int64, err error) {
	c := call{l: l, old: debug.SetPanicOnFault(true)}
	defer c.done(&off, &err)
	if n < 0 || int64(n) > maxData {
		return 0, fs.ErrInvalid
	}
	c.lock()
	off = l.end
	end := off + entrySize + int64(n)
	if err := l.need(end); err != nil {
		return 0, err
	}
	if l.mem == nil {
		return off, l.fillCopy(&c, n, fill)
	}
	c.touched = end
	b := l.mem[off:end:end]
	data := b[entrySize:]
	if err := c.call(fill, data); err != nil {
		return 0, err
	}
	c.inFill = true // the clock is the caller's function, too
	now := l.clock.read()
	c.inFill = false
	newEntry(now, data).put(b)
	return off, l.publish(end, 1)
}

// fillCopy is AppendFunc where nothing is mapped.
func (l *Log) fillCopy(c *call, n int, fill func(p []byte) error) error {
	data := make([]byte, n)
	if err := c.call(fill, data); err != nil {
		return err
	}
	e, off := newEntry(l.clock.read(), data), l.end
	if err := l.write(e, data, off); err != nil {
		return err
	}
	return l.publish(e.next(off), 1)
}

// need sees to it that events may go up to end. Called with mu held.
func (l *Log) need(end int64) error {
	if l.gone {
		return os.ErrClosed
	}
	if end <= l.usable && end >= 0 {
		return nil
	}
	if end < 0 {
		return ErrFull
	}
	return l.grow(end)
}

// publish makes visible what was appended up to end, k events. The count goes
// first: once a reader sees the offset, all before it is there.
func (l *Log) publish(end, k int64) error {
	count := l.count + k
	var err error
	// A file as long as its WriteOffset is known to be durable up to there.
	if end == l.room {
		err = l.f.Sync()
	}
	switch {
	case err != nil:
	case l.mem != nil:
		le.PutUint64(l.mem[atEventCount:], uint64(count))
		l.word.Store(littleWord(uint64(end)))
	default:
		if err = l.put(atEventCount, count); err == nil {
			err = l.put(atWriteOffset, end)
		}
		if err != nil { // a count that is ahead speaks for events behind the end
			l.put(atEventCount, l.count)
		}
	}
	if err != nil {
		if l.mem == nil {
			l.undo(end)
		}
		return err
	}
	l.count, l.end = count, end
	if l.o.Flush.Bytes > 0 {
		l.flush()
	}
	return nil
}

// put writes a field of the header where nothing is mapped.
func (l *Log) put(at, v int64) error {
	var b [8]byte
	le.PutUint64(b[:], uint64(v))
	_, err := l.f.WriteAt(b[:], at)
	return err
}

// write writes an event where nothing is mapped.
func (l *Log) write(e entry, p []byte, off int64) error {
	var head [entrySize]byte
	l.buf = append(l.buf[:0], head[:]...)
	e.put(l.buf)
	if len(p) <= block {
		l.buf, p = append(l.buf, p...), nil
	}
	_, err := l.f.WriteAt(l.buf, off)
	if err == nil && len(p) > 0 {
		_, err = l.f.WriteAt(p, off+entrySize)
	}
	if err != nil {
		l.undo(e.next(off))
	}
	return err
}

// undo makes zeros of what was written from the end up to there, where nothing is
// mapped. The file stays longer than its events, which may not be durable yet.
func (l *Log) undo(to int64) {
	if l.f.Truncate(l.end+1) == nil {
		to = l.end + 1
		l.attach(to)
	}
	writeZeros(l.f, l.end, to)
}

// call is one append.
type call struct {
	l       *Log
	old     bool // of SetPanicOnFault
	locked  bool
	inFill  bool  // the caller's function runs
	filled  bool  // and its error is to be returned as it is
	touched int64 // up to where the memory behind the end may have been stored to
}

func (c *call) lock() {
	c.l.mu.Lock()
	c.locked = true
}

// call calls the caller's function.
func (c *call) call(fill func(p []byte) error, p []byte) error {
	c.inFill = true
	err := fill(p)
	c.inFill = false
	c.filled = err != nil
	return err
}

// done ends an append, in whatever way.
func (c *call) done(off *int64, err *error) {
	r := recover()
	if r != nil || *err != nil || c.inFill {
		c.failed(r, err)
		*off = 0
	}
	debug.SetPanicOnFault(c.old)
	if c.locked {
		c.l.mu.Unlock()
	}
	if r != nil && *err == nil {
		panic(r)
	}
}

// failed clears what an append that failed has stored, and makes its error what
// the caller gets: none for a panic that goes on.
func (c *call) failed(r any, err *error) {
	l := c.l
	cleared, noAddress := true, false
	if c.touched > l.end {
		cleared, noAddress = l.clear(l.end, c.touched)
	}
	// Not every system tells where a fault was, so the memory itself is asked.
	if r != nil && isFault(r, !c.inFill || noAddress) && (!c.inFill || !cleared) {
		*err = l.faultCause()
	}
	if *err != nil && !c.filled {
		*err = l.fail("append", *err)
	}
}

// clear makes zeros of what must not look like an event. It reports whether it could, and
// whether a fault in that had no address.
func (l *Log) clear(from, to int64) (ok, noAddress bool) {
	defer func() {
		r := recover()
		ok, noAddress = r == nil, r != nil && !isFault(r, false)
	}()
	clear(l.mem[from:to])
	return true, false
}
