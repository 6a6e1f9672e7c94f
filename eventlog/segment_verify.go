package eventlog

import (
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// blankSegment reports whether a segment has no header yet.
func blankSegment(name string) (blank bool, err error) {
	_, err = scanSegment(name, func(src *eventfile.Source, size int64) (err error) {
		if src.Stored, err = eventfile.OpenStored(src.File.OS(), size); err != nil {
			return err
		}
		defer src.Stored.Close()
		if size < eventfile.HeaderSize {
			blank = true
			return nil
		}
		b, err := src.Bytes(0, eventfile.HeaderSize)
		blank = err == nil && eventfile.ParseHeader(b) == eventfile.Header{}
		if blank && src.Stored != nil {
			err = os.Truncate(name, 0)
		}
		return err
	})
	return blank, err
}

// isClosed reports whether a segment was closed in order with its n events. One with less
// may be as it was when the stream was closed before.
func isClosed(name string, n int64) (bool, error) {
	h, size, err := eventfile.ReadHeader(name)
	switch {
	case err != nil || !h.Valid(size):
		return false, err
	case size == h.End && h.Count > n:
		return true, &fs.PathError{Op: "open", Path: name, Err: &CorruptError{h.End, eventfile.ErrGap}}
	case h.Count != n:
		return false, nil
	case size == h.End:
		return true, nil
	}
	// After the segment was closed TruncateBack may have removed an event, which is still there.
	// A crash may have left a WriteOffset without the last event, and a count with it.
	if removed, err := eventAt(name, h.End); err != nil || !removed {
		return false, err
	}
	return scanSegment(name, func(src *eventfile.Source, _ int64) error {
		src.Map(h.End)
		off := int64(eventfile.HeaderSize)
		for range n {
			e, _, err := src.Event(off, h.End, false)
			if err != nil {
				return err
			}
			off = e.Next(off)
		}
		return nil
	})
}

// wholeEvents verifies the first n events of a segment, and returns where they end, or 0
// if they are not whole. more reports whether events follow them.
func wholeEvents(name string, n int64) (end int64, more bool, err error) {
	whole, err := scanSegment(name, func(src *eventfile.Source, size int64) (err error) {
		if src.Stored, err = eventfile.OpenStored(src.File.OS(), size); err != nil {
			return err
		}
		defer src.Stored.Close()
		limit, err := src.End()
		if err != nil || limit < eventfile.HeaderSize {
			return err
		}
		src.Limit = min(limit, size)
		src.MapIfHot(src.Limit)
		off := int64(eventfile.HeaderSize)
		for ; n > 0 && off < limit; n-- {
			e, _, err := src.Event(off, src.Limit, true)
			if err != nil {
				return err
			}
			off = e.Next(off)
		}
		if n == 0 {
			end, more = off, off < limit
		}
		return nil
	})
	if !whole {
		return 0, false, err
	}
	return end, more, nil
}

// eventAt reports whether there is a whole event at an offset, be it before WriteOffset or
// after.
func eventAt(name string, off int64) (bool, error) {
	return scanSegment(name, func(src *eventfile.Source, size int64) error {
		_, _, err := src.Event(off, size, true)
		return err
	})
}

// scanSegment calls fn with the file of a segment and its size. It returns false if fn returns
// that an event is not whole.
func scanSegment(name string, fn func(src *eventfile.Source, size int64) error) (whole bool, err error) {
	f, err := eventfile.Open(name, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	lf := logFile{f: f}
	defer lf.close()
	err = lf.whileOpen("open", func() error {
		size, err := lf.size()
		if err != nil {
			return err
		}
		return fn(&eventfile.Source{File: f, Limit: size}, size)
	})
	if eventfile.NotWhole(err) {
		return false, nil
	}
	return err == nil, err
}
