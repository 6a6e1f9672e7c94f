package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.dw1.io/mmapfile/eventlog"
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

const headerSize = 24 // of a log: see FORMAT.md

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
		return &source{r, name, r, nil}, nil
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
	if _, err := os.Stat(filepath.Join(name, "meta")); err == nil {
		return true, nil
	}
	firsts, err := segments(name)
	if err == nil && len(firsts) == 0 {
		err = fmt.Errorf("%s is a directory, but not a stream: it has no segments", name)
	}
	return true, err
}

// segments returns the names of the segments in dir, ascending.
func segments(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if firstOf(e.Name()) >= 0 {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// firstOf returns the number of the first event of a segment, or -1 for another name.
func firstOf(name string) int64 {
	digits, ok := strings.CutSuffix(name, ".log")
	first, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || len(digits) != 20 || strings.Trim(digits, "0123456789") != "" {
		return -1
	}
	return first
}

// bounds returns the positions of the first event and of the end, or of the first damage in the
// last segment of a stream.
func (s *source) bounds() (first, end int64, err error) {
	if s.stream == nil {
		first = headerSize
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

// header is the beginning of a log.
type header struct {
	end, count, start int64
}

// readHeader reads it. It is zero in a file that is shorter.
func readHeader(name string) (h header, err error) {
	f, err := os.Open(name)
	if err != nil {
		return h, err
	}
	defer f.Close()
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], 0); err == io.EOF {
		return h, nil
	} else if err != nil {
		return h, err
	}
	for i, p := range []*int64{&h.end, &h.count, &h.start} {
		*p = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return h, nil
}
