package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/live/internal/lease"
)

// candidate is a version that is not loaded yet, because it must be unchanged for a while. Its file
// is held open: a writer that replaces it again and again does not keep it from being loaded.
type candidate struct {
	file  *mmapfile.File // nil if there is none
	stamp stamp
	since time.Time // when its size and time were first seen
}

// holds reports whether a candidate is held open. On Windows an open file cannot be replaced. So if
// it is to be copied, it is closed between two looks.
func (s *state[T]) holds() bool { return !s.options.Copy || runtime.GOOS != "windows" }

var (
	errSettling   = errors.New("a new version has not settled")
	errBusy       = errors.New("the file is being looked at, and this call must not wait for that")
	errNotRegular = fmt.Errorf("%w: not a regular file", fs.ErrInvalid)
	errChanged    = errors.New("the file changed while it was loaded")
)

// refresh looks without waiting for a version to settle.
func (s *state[T]) refresh(wait bool) (changed bool, news, err error) {
	if wait {
		s.looking.Lock()
	} else if !s.looking.TryLock() {
		return false, nil, s.fail("refresh", errBusy)
	}
	defer s.looking.Unlock()
	s.candidate.drop()
	changed, err = s.look(-1)
	return changed, s.note(err), err
}

// background looks on the goroutine of the Value, and returns when to look next.
func (s *state[T]) background() (next time.Duration) {
	began, returned := time.Now(), false
	defer func() {
		if !returned {
			next = max(s.options.Interval, time.Since(began))
			s.tell(s.note(s.fail("load", panicError(recover()))))
		}
	}()
	next, news, err := s.lookAndWait()
	returned = true
	if err != nil && err != errSettling {
		next = max(next, time.Since(began)) // what fails for long takes half of the time at most
	}
	s.tell(news)
	return next
}

// lookAndWait looks, and returns when to look next.
func (s *state[T]) lookAndWait() (next time.Duration, news, err error) {
	next = s.options.Interval
	if !s.looking.TryLock() {
		return next, nil, errSettling // another goroutine looks
	}
	defer s.looking.Unlock()
	_, err = s.look(s.options.Settle)
	if err == errSettling {
		next = min(next, time.Until(s.candidate.since.Add(s.options.Settle)))
	}
	return next, s.note(err), err
}

// look asks for the name, and takes the version that has it now, or the candidate, if that was
// unchanged for the time of settle. If not yet, the error is errSettling. Called with looking held.
func (s *state[T]) look(settle time.Duration) (changed bool, err error) {
	if s.isClosed() {
		return false, s.fail("refresh", os.ErrClosed)
	}
	now, err := stampOf(func() (fs.FileInfo, error) { return os.Stat(s.name) })
	s.mu.Lock()
	s.status.Looked = time.Now()
	s.mu.Unlock()
	switch {
	case err != nil:
		s.candidate.drop() // removed, perhaps because it was not whole
		return false, err
	case !now.info.Mode().IsRegular():
		s.candidate.drop()
		return false, s.fail("open", errNotRegular)
	case now.same(s.taken) && !s.taken.due(now.at):
		s.candidate.drop()
		return false, nil
	}

	c := &s.candidate
	if c.file == nil {
		o := s.options.File
		if s.options.Copy {
			o = mmapfile.Options{} // they are for the copy
		}
		if c.file, err = o.OpenFile(s.name, os.O_RDONLY|nonblock, 0); err != nil {
			return false, err
		}
	}
	held, err := stampOf(c.file.Stat)
	if err == nil && !held.info.Mode().IsRegular() {
		err = s.fail("open", errNotRegular) // replaced since the name was asked
	}
	if err != nil {
		c.drop()
		return false, err
	}
	if !held.sameContent(c.stamp) {
		c.since = now.at
	}
	c.stamp = held
	if settle > 0 && held.at.Sub(c.since) < settle {
		if !s.holds() {
			c.close()
		}
		return false, errSettling
	}
	return s.take()
}

// close closes the file, and leaves its stamp.
func (c *candidate) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

func (c *candidate) drop() {
	c.close()
	*c = candidate{}
}

// take loads the candidate, and makes it current. Called with looking held.
func (s *state[T]) take() (changed bool, err error) {
	c := s.candidate
	s.candidate = candidate{}
	v := new(lease.Version[version[T]])
	u := &v.Value
	u.file = c.file
	s.mu.Lock()
	s.status.Open++
	s.mu.Unlock()
	loaded := false
	defer func() {
		if !loaded { // also by a panic
			s.discard(u)
		}
	}()
	if s.options.Copy {
		u.file, u.remove, err = copyOf(c.file, s.options.File)
		if err == nil {
			err = c.unchanged()
		}
		if c.file.Close(); err != nil {
			return false, s.fail("load", err)
		}
	}
	err = u.file.Guard(func() (err error) {
		u.value, err = s.load(u.file)
		return err
	})
	if err != nil {
		if s.options.Copy {
			err = withoutName(err, u.file.Name())
		}
		return false, s.fail("load", err)
	}
	loaded = true
	if !s.options.Copy {
		err = c.unchanged()
	}
	if err != nil {
		s.retire(v)
		return false, s.fail("load", err)
	}
	was := s.tells(c.stamp) // before a Use can get the version
	if !s.current.Replace(s.latest, v) {
		s.mu.Lock()
		s.status.Since, s.status.ModTime, s.status.Size, s.status.Taken = was.Since, was.ModTime, was.Size, was.Taken
		s.mu.Unlock()
		s.retire(v)
		return false, s.fail("load", os.ErrClosed)
	}
	s.latest, s.taken = v, c.stamp
	return true, nil
}

// tells makes the Status that of a version with that stamp, and returns the one before.
func (s *state[T]) tells(version stamp) (was Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.status
	s.status.Since, s.status.ModTime, s.status.Size = time.Now(), version.info.ModTime(), version.info.Size()
	s.status.Taken++
	return was
}

// unchanged returns an error if the file changed since its stamp.
func (c *candidate) unchanged() error {
	now, err := stampOf(c.file.Stat)
	if err == nil && !now.sameContent(c.stamp) {
		err = errChanged
	}
	return err
}
