package eventlog

import (
	"cmp"
	"context"
	"io/fs"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Sync makes durable all events whose append has returned. An error has Op "sync". After
// a flush has failed, every later Sync, AppendSync and Close returns its error: see
// [Log.Sync].
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
	if s.synced.reached(at.next, at.truncations) {
		return nil
	}
	s.flushes.Store(true)
	err := at.a.sync(at.end)
	if err == nil {
		s.synced.advance(at.next, at.truncations)
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

// Durable returns the sequence number up to which all events are known to be durable. It
// makes no system call. It waits for appends that have begun.
func (s *Stream) Durable() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durableNext()
}

// durable is that of a catalog.
func (s *Stream) durable(*segment) (seq, off int64) { return s.Durable(), math.MaxInt64 }

// WaitDurable returns once event seq is durable, which another goroutine may have appended. It flushes
// the stream unless a flush has done that, and shares flushes with all calls that wait. For a number
// before First there is nothing to wait for: such an event was removed, or there was none.
//
// An error is a *[fs.PathError] with Op "sync": [fs.ErrNotExist] for an event that was not appended
// yet, [ErrTruncated] if TruncateBack has removed it meanwhile, or those of [Stream.Sync]. If ctx is done
// before, its error comes as it is, and a flush that has begun goes on.
func (s *Stream) WaitDurable(ctx context.Context, seq int64) error {
	s.mu.Lock()
	at, next, closing := s.markOf(seq), s.active.next, s.closing
	known := seq < max(s.First(), s.durableNext())
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case known:
		return nil
	case closing:
		return s.fail("sync", os.ErrClosed)
	case seq >= next:
		return s.fail("sync", fs.ErrNotExist)
	}
	if ctx.Done() == nil {
		return s.waitMark(at, seq)
	}
	done := make(chan error, 1)
	go func() { done <- s.waitMark(at, seq) }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		return err
	}
}

// waitMark is syncMark, but an error if TruncateBack has removed event seq meanwhile.
func (s *Stream) waitMark(at mark, seq int64) error {
	err := s.syncMark(at)
	if b := s.state.Load(); err == nil && b.Truncations != at.truncations && (b.Truncations > at.truncations+1 || b.TruncatedTo <= seq) {
		err = s.fail("sync", ErrTruncated)
	}
	return err
}

// markOf returns a mark after event seq, to within the step of the index. It is called with mu held.
func (s *Stream) markOf(seq int64) mark {
	at, first := s.mark(), s.active.seg.first
	if seq < first { // the segments before are durable when prevDurable is closed
		at.end, at.next = eventfile.HeaderSize, first
		return at
	}
	i := seq - first
	if p := s.active.seg.index.Look(i/eventfile.IndexStep*eventfile.IndexStep + eventfile.IndexStep); i < p.N {
		at.end, at.next = p.Off, min(seq+1, at.next)
	}
	return at
}

// durableNext is Durable. It is called with mu held.
func (s *Stream) durableNext() int64 {
	a := s.active
	select {
	case <-a.prevDurable:
		if !s.closing { // the log may have flushed by itself
			s.synced.advance(a.seg.first+a.seg.index.Count(a.log.Durable()), s.state.Load().Truncations)
		}
	default:
	}
	return s.synced.end.Load()
}
