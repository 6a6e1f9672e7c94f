package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/eventfile"
)

// source is a log or a stream that is open for reading. Positions are offsets in a log, and
// sequence numbers in a stream.
type source struct {
	reader
	name   string
	stream *eventlog.StreamReader // nil for a log
	log    *eventlog.Reader       // nil for a stream
}

type reader interface {
	Events(from int64) iter.Seq2[eventlog.Event, error]
	Since(t time.Time) iter.Seq2[eventlog.Event, error]
	Follow(ctx context.Context, from int64) iter.Seq2[eventlog.Event, error]
	Close() error
}

// streamSource is a StreamReader without the options of its loops.
type streamSource struct{ *eventlog.StreamReader }

func (s streamSource) Events(from int64) iter.Seq2[eventlog.Event, error] {
	return s.StreamReader.Events(from)
}

func (s streamSource) Follow(ctx context.Context, from int64) iter.Seq2[eventlog.Event, error] {
	return s.StreamReader.Follow(ctx, from)
}

func openSource(name string) (*source, error) {
	stream, err := isStream(name)
	if err != nil {
		return nil, err
	}
	if stream {
		r, err := eventlog.OpenStreamReader(name)
		if err != nil {
			return nil, err
		}
		return &source{streamSource{r}, name, r, nil}, nil
	}
	r, err := eventlog.OpenReader(name)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return &source{r, name, nil, r}, nil
}

// isStream reports whether name is a directory. It refuses one that is no stream.
func isStream(name string) (bool, error) {
	fi, err := os.Stat(name)
	if err != nil || !fi.IsDir() {
		return false, err
	}
	if _, err := os.Stat(filepath.Join(name, eventfile.MetaName)); err == nil {
		return true, nil
	}
	names, err := segments(name)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s is a directory, but not a stream: it has no segments", name)
	}
	return true, err
}

// segments returns the paths of the segments in dir, ascending.
func segments(dir string) (names []string, err error) {
	firsts, err := eventfile.ListSegments(dir)
	for _, first := range firsts {
		names = append(names, eventfile.SegmentName(dir, first))
	}
	return names, err
}

// bounds returns the positions of the first event and of the end, or of the first damage in the
// last segment of a stream.
func (s *source) bounds() (first, end int64, err error) {
	if s.stream == nil {
		first = eventfile.HeaderSize
		end, err = s.log.End()
	} else if first, err = s.stream.First(); err == nil {
		end, err = s.stream.Next()
	}
	if ce := (*eventlog.CorruptError)(nil); errors.As(err, &ce) {
		err = nil // the events tell it
	}
	return first, max(first, end), err
}

// next returns the position after e.
func (s *source) next(e eventlog.Event) int64 {
	if s.stream != nil {
		return e.Seq + 1
	}
	return e.Next()
}

// at returns the position of e.
func (s *source) at(e eventlog.Event) int64 {
	if s.stream != nil {
		return e.Seq
	}
	return e.Offset
}
