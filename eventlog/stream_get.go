package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// getEvent returns a copy of event seq.
func getEvent(c catalog, seq int64) (Event, error) {
	for tries := 0; ; tries++ {
		e, changed, err := tryGet(c, seq)
		if !changed || !again(tries) {
			return e, err
		}
	}
}

// tryGet returns changed if the bounds, or the files, have changed meanwhile.
func tryGet(c catalog, seq int64) (e Event, changed bool, err error) {
	l := c.list()
	b, err := c.refresh()
	if err != nil {
		return e, false, err
	}
	if l.closed.Load() {
		return e, false, l.fail("get", os.ErrClosed)
	}
	switch {
	case seq < l.firstOf(b):
		return e, false, l.fail("get", ErrTruncated)
	case seq >= b.Limit():
		return e, false, l.fail("get", fs.ErrNotExist)
	}
	s := l.at(seq)
	if s == nil {
		return e, false, l.fail("get", fs.ErrNotExist)
	}
	f := s.file.Load()
	if f == nil {
		if f, err = l.acquire(s); err != nil {
			c.relist()
			return e, errors.Is(err, fs.ErrNotExist), l.fail("get", err)
		}
		s.release()
	}
	e, next, err := f.get(s, seq)
	more := err == nil && next <= seq && c.grown(next) && l.at(seq) != s // before the bounds are compared: it may list again
	if now, berr := c.bounds(); berr != nil || now.Generation != b.Generation {
		return Event{}, true, l.fail("get", errors.Join(err, berr))
	}
	switch {
	case err == nil && next > seq:
		return e, false, nil
	case more:
		c.relist() // there may be many more
		return Event{}, true, l.fail("get", fs.ErrNotExist)
	case err == nil && gap(c, seq):
		return Event{}, true, l.fail("get", damagedEvent(seq, 0, eventfile.ErrGap))
	case err == nil:
		return Event{}, false, l.fail("get", fs.ErrNotExist)
	case errors.Is(err, eventfile.ErrGap) && c.relist():
		return Event{}, true, err
	case errors.Is(err, os.ErrClosed): // the segment, not the stream: see tryGet's beginning
		return Event{}, true, l.fail("get", os.ErrClosed)
	}
	return Event{}, false, err
}

// get reads and verifies event seq of segment s. If there is none, next is not above seq.
func (f *segmentFile) get(s *segment, seq int64) (e Event, next int64, err error) {
	err = f.whileOpen("get", func() error {
		var src eventfile.Source
		p, err := s.find(f, &src, seq)
		if next = s.first + p.N; err != nil || next <= seq {
			return err
		}
		head, data, err := src.CopyEvent(p.Off, p.End)
		if err != nil {
			return s.damage(seq-s.first, p.Off, err)
		}
		e = Event{p.Off, seq, time.Unix(0, head.Time), data}
		return nil
	})
	if err != nil {
		err = f.fail("get", err)
	}
	return e, next, err
}
