package eventlog

import (
	"cmp"
	"os"
)

// Sync makes durable all events whose append has returned. An error has Op "sync". After
// a flush has failed, every later Sync, AppendSync and Close returns its error: see
// [Log.Sync].
func (s *Stream) Sync() error {
	s.mu.Lock()
	if s.gone {
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

// durableNext is Durable. It is called with mu held.
func (s *Stream) durableNext() int64 {
	a := s.active
	select {
	case <-a.prevDurable:
		if !s.gone { // the log may have flushed by itself
			s.synced.advance(a.seg.first+a.seg.index.Count(a.log.Durable()), s.state.Load().Truncations)
		}
	default:
	}
	return s.synced.end.Load()
}
