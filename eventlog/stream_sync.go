package eventlog

import (
	"cmp"
	"context"
	"io/fs"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Sync makes durable all events whose append has returned. An error has Op "sync". After a
// flush has failed, every later Sync, AppendSync and Close returns its error: see [Log.Sync].
func (s *Stream) Sync() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return s.fail("sync", os.ErrClosed)
	}
	at := s.mark()
	s.mu.Unlock()
	return s.syncMark(at)
}

// syncMark returns once everything before at is durable.
func (s *Stream) syncMark(at mark) error {
	if s.synced.reached(at.next, at.a.truncations) {
		return nil
	}
	s.flushes.Store(true)
	wait(at.a.prevDurable)
	if err := s.synced.failed(); err != nil {
		return err
	}
	err := at.a.sync(at.end)
	if err == nil {
		s.synced.advance(at.next, at.a.truncations)
	}
	return cmp.Or(s.synced.failed(), err)
}

// flushDue flushes if an append leaves Options.Flush.Bytes unflushed. Sync and Close return its
// error.
func (s *Stream) flushDue(at mark) {
	due := s.o.Flush.Bytes
	if due == 0 {
		return
	}
	unflushed := at.end - at.a.log.Durable()
	select {
	case <-at.a.prevDurable:
	default:
		unflushed += at.a.prevUnflushed
	}
	if unflushed >= due {
		s.syncMark(at)
	}
}

// Durable returns the sequence number before which all events are known to be durable. It
// makes no system call, and does not wait.
func (s *Stream) Durable() int64 {
	if a := s.current.Load(); a.log != nil && logdisk.Closed(a.prevDurable) { // the log may have flushed by itself
		s.synced.advance(a.seg.first+a.seg.index.Count(a.log.Durable()), a.truncations)
	}
	return s.synced.end.Load()
}

// durable is that of a catalog.
func (s *Stream) durable(*segment, int64) (seq, end int64) { return s.Durable(), math.MaxInt64 }

// WaitDurable returns once event seq, which another goroutine may have appended, is durable.
// It flushes the stream unless a flush has made the event durable, and calls that wait share
// flushes. For a number before First it returns at once: such an event was removed, or there
// was none.
//
// An error is a *[fs.PathError] with Op "sync": WaitDurable fails with [fs.ErrNotExist] for an
// event that was not appended yet, [ErrTruncated] if TruncateBack has removed it meanwhile, or
// the errors of [Stream.Sync]. If ctx is done first, WaitDurable returns its error unchanged,
// and a flush in progress continues.
func (s *Stream) WaitDurable(ctx context.Context, seq int64) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case seq < s.First() || seq < s.Durable():
		return nil
	}
	return logdisk.Do(ctx, func() error { return s.waitDurable(seq) })
}

// waitDurable is WaitDurable. It waits for mu.
func (s *Stream) waitDurable(seq int64) error {
	s.mu.Lock()
	at, next, closing := s.markOf(seq), s.active.next, s.closing
	s.mu.Unlock()
	switch {
	case seq < s.First() || seq < s.Durable():
		return nil
	case closing:
		return s.fail("sync", os.ErrClosed)
	case seq >= next:
		return s.fail("sync", fs.ErrNotExist)
	}
	return s.waitMark(at, seq)
}

// waitMark is syncMark, but an error if TruncateBack has removed event seq meanwhile.
func (s *Stream) waitMark(at mark, seq int64) error {
	err := s.syncMark(at)
	if b := s.state.Load(); err == nil && b.Truncations != at.a.truncations && (b.Truncations > at.a.truncations+1 || b.TruncatedTo <= seq) {
		err = s.fail("sync", ErrTruncated)
	}
	return err
}

// markOf returns a mark after event seq, to within the step of the index. It is called with mu held.
func (s *Stream) markOf(seq int64) mark {
	at := s.mark()
	if at.a.log == nil {
		return at
	}
	first := at.a.seg.first
	if seq < first { // the segments before are durable when prevDurable is closed
		at.end, at.next = eventfile.HeaderSize, first
		return at
	}
	i := seq - first
	if p := at.a.seg.index.After(i); i < p.N {
		at.end, at.next = p.Off, min(seq+1, at.next)
	}
	return at
}
