package eventlog_test

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

func sized(segment, max int64) eventlog.StreamOptions {
	return eventlog.StreamOptions{SegmentSize: segment, Options: eventlog.Options{MaxSize: max}}
}

// wantFull checks that an append of data is ErrFull, and changes nothing.
func wantFull(t *testing.T, s *eventlog.Stream, dir string, data ...string) {
	t.Helper()
	eventlog.WaitJobs(s) // which remove files
	next, size, files := s.Next(), s.Size(), len(segments(t, dir))
	var ps [][]byte
	for _, d := range data {
		ps = append(ps, []byte(d))
	}
	_, err := s.AppendBatch(ps...)
	_, serr := s.AppendBatchSync(ps...)
	if len(ps) == 1 {
		_, err = s.Append(ps[0])
		_, serr = s.AppendSync(ps[0])
	}
	pe := (*fs.PathError)(nil)
	if !errors.Is(err, eventlog.ErrFull) || !errors.As(err, &pe) || pe.Op != "append" || !errors.Is(serr, eventlog.ErrFull) {
		t.Errorf("%.20q: %v, %v", data, err, serr)
	}
	if s.Next() != next || s.Size() != size || len(segments(t, dir)) != files {
		t.Errorf("%.20q: %d events, %d bytes, %d files; before %d, %d, %d", data, s.Next(), s.Size(), len(segments(t, dir)), next, size, files)
	}
}

func TestStream_MaxSize(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	const event = 16 + 84
	const segment = 24 + 4*event + 1 // four events: one byte stays free
	o := sized(segment, 3*24+10*event)
	s := openStream(t, dir, o)
	data := strings.Repeat("x", 84)
	for range 10 {
		push(t, s, data)
	}
	if s.Size() != o.MaxSize {
		t.Fatalf("%d bytes, want %d", s.Size(), o.MaxSize)
	}
	wantFull(t, s, dir, "")
	wantFull(t, s, dir, data)
	wantFull(t, s, dir, "", "")
	wantFull(t, s, dir, strings.Repeat("x", 1000)) // in a segment of its own
	wantError(t, errOf(s.AppendBatch()), nil, "without events")
	closeStream(t, s)
	s = openStream(t, dir, o)
	wantFull(t, s, dir, data)

	must(t, s.TruncateFront(3))
	wantFull(t, s, dir, data) // the first segment is still there
	must(t, s.TruncateFront(4))
	push(t, s, data, data)              // fill the third segment
	wantFull(t, s, dir, data, data+"x") // 224 bytes are free, but a segment takes 24 of them
	push(t, s, data)
	wantFull(t, s, dir, data+"x")
	must(t, s.TruncateBack(8))
	push(t, s, data)
	closeStream(t, s)

	s = openStream(t, dir, sized(segment, 100)) // less than there is
	wantFull(t, s, dir, data)
	closeStream(t, s)
	s = openStream(t, dir, sized(segment, 0))
	push(t, s, data)
}

// Retention comes first, however late it is otherwise.
func TestStream_MaxSizeAndRetention(t *testing.T) {
	t.Parallel()
	const segment = 24 + 4*(16+84) + 1
	o := sized(segment, 3*segment)
	o.RetainBytes = 2 * segment
	s := openStream(t, newDir(t), o)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if _, err := s.Append([]byte(strings.Repeat("x", 84))); err != nil {
					t.Error(err)
					return
				}
				if size := s.Size(); size > o.MaxSize {
					t.Errorf("%d bytes of %d", size, o.MaxSize)
				}
			}
		})
	}
	all.Wait()
	if s.Next() != 800 || s.First() == 0 {
		t.Errorf("events %d to %d", s.First(), s.Next())
	}
}
