package live

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.dw1.io/mmapfile/live/internal/lease"
)

// retire has v released on the goroutine of the Value.
func (s *state[T]) retire(v *lease.Version[version[T]]) {
	s.mu.Lock()
	s.unused = append(s.unused, v)
	s.mu.Unlock()
	s.notify()
}

// notify wakes the goroutine of the Value.
func (s *state[T]) notify() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// run is the goroutine of the Value. It looks, releases versions, and ends with the last of them
// after Close.
func (s *state[T]) run() {
	ended := false
	defer func() {
		if !ended { // a function of the caller called runtime.Goexit
			go s.run()
		}
	}()
	timer := time.NewTimer(s.options.Interval)
	defer timer.Stop()
	for {
		s.releaseUnused()
		if s.hasEnded() {
			timer.Stop()
			if ended = s.drain(); ended {
				return
			}
		}
		select {
		case <-s.wake:
		case <-timer.C:
			timer.Reset(s.background())
		}
	}
}

// drain releases all that is not in use after Close, and reports whether no version is open.
func (s *state[T]) drain() bool {
	s.looking.Lock() // a look in progress may still load a version
	s.candidate.drop()
	s.latest = nil // its address range stays reserved while its File is reachable
	s.looking.Unlock()
	s.releaseUnused()
	s.drained()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status.Open == 0
}

// releaseUnused releases the versions that have no user any more.
func (s *state[T]) releaseUnused() {
	for {
		s.mu.Lock()
		if len(s.unused) == 0 {
			s.mu.Unlock()
			return
		}
		v := s.unused[0]
		s.unused[0] = nil
		s.unused = s.unused[1:]
		s.mu.Unlock()
		s.release(&v.Value)
	}
}

// release calls Release, and closes the file of u.
func (s *state[T]) release(u *version[T]) {
	defer s.discard(u)
	if s.options.Release == nil {
		return
	}
	returned := false
	defer func() {
		if !returned {
			s.tell(s.note(s.fail("release", panicError(recover()))))
		}
	}()
	err := u.file.Guard(func() error {
		s.options.Release(u.value)
		return nil
	})
	returned = true
	if err != nil {
		s.tell(s.note(s.fail("release", err)))
	}
}

// discard closes the file of u.
func (s *state[T]) discard(u *version[T]) {
	if u.file != nil {
		u.file.Close()
	}
	if u.remove != "" {
		os.Remove(u.remove)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Open--
}

// panicError is the error for what recover has returned.
func panicError(r any) error {
	switch r := r.(type) {
	case nil:
		return errors.New("runtime.Goexit was called")
	case error:
		return fmt.Errorf("panic: %w", r)
	}
	return fmt.Errorf("panic: %v", r)
}
