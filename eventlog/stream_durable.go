package eventlog

import (
	"os"
	"sync"
)

// durability is what is known to be durable.
type durability struct {
	mu          sync.Mutex
	next        int64
	truncations int64 // next is of the time after so many calls of TruncateBack
	err         error // of a segment, or the directory, that could not be flushed
}

// flushDue flushes if an append leaves Options.Flush.Bytes unflushed. An error is kept for
// Sync and Close.
func (s *Stream) flushDue(at mark) {
	limit := s.o.Flush.Bytes
	if limit == 0 {
		return
	}
	unflushed := at.end - at.a.log.Durable()
	select {
	case <-at.a.prevDurable:
	default:
		unflushed += at.a.prevUnflushed
	}
	if unflushed >= limit {
		s.syncTo(at)
	}
}

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
	return s.syncTo(at)
}

// syncTo returns once everything before at is durable.
func (s *Stream) syncTo(at mark) error {
	if s.durable(at) {
		return nil
	}
	s.flushes.Store(true)
	err := at.a.sync(at.end)
	d := &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	if err == nil && d.truncations == at.truncations {
		d.next = max(d.next, at.next)
	}
	return err
}

// durable reports whether everything before at is known to be durable.
func (s *Stream) durable(at mark) bool {
	d := &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err == nil && d.truncations == at.truncations && d.next >= at.next
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
	a, d := s.active, &s.synced
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-a.prevDurable:
		if d.err == nil && !s.gone { // the log may have flushed by itself
			d.next = max(d.next, a.seg.first+a.seg.index.count(a.log.Durable()))
		}
	default:
	}
	return d.next
}
