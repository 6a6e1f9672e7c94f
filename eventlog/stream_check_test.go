package eventlog_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// A segment that is missing, at the beginning or in the middle, is noticed, and is no loss if it
// comes back.
func TestStream_Check(t *testing.T) {
	t.Parallel()
	o := eventlog.StreamOptions{SegmentSize: 1000}
	for _, lost := range []int{0, 1, 3} {
		dir := newDir(t)
		s := openStream(t, dir, o)
		pushN(t, s, 100)
		must(t, s.Check())
		closeStream(t, s)
		name := segments(t, dir)[lost]
		b := get(t, name)
		must(t, os.Remove(name))
		from, to := eventlog.FirstOf(name), eventlog.FirstOf(segments(t, dir)[lost])
		for range 2 {
			s = openStream(t, dir, o)
			err := s.Check()
			ce := (*eventlog.CorruptError)(nil)
			if want := fmt.Sprintf("events %d to %d", from, to-1); !errors.As(err, &ce) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			wantNth(t, s.Events(to), to, s.Next())
			all, err := collect(s.Events(s.First())) // which is to if the first segment is missing
			if gerr := errOf(s.Get(from)); lost > 0 && (int64(len(all)) != from || !errors.As(err, &ce) || !errors.As(gerr, &ce)) {
				t.Errorf("%d events, %v; Get: %v", len(all), err, gerr)
			}
			pushN(t, s, 10)
			closeStream(t, s)
		}
		put(t, name, b)
		s = openStream(t, dir, o)
		wantError(t, s.Check(), nil, "Check")
		wantNth(t, s.Events(0), 0, 120)
		closeStream(t, s)
	}
}

// A segment that was truncated, or has events of the next, is damaged.
func TestStream_CheckDamaged(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(names []string) error{
		"shorter": func(names []string) error { return os.Truncate(names[1], 500) },
		"empty":   func(names []string) error { return os.Truncate(names[1], 0) },
		"longer":  func(names []string) error { return os.WriteFile(names[1], get(t, names[0]), 0o666) },
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
		push(t, s, "", "", "", "", "", "")
		pushN(t, s, 100)
		closeStream(t, s)
		must(t, damage(segments(t, dir)))
		s = openStream(t, dir, eventlog.StreamOptions{})
		if ce := (*eventlog.CorruptError)(nil); !errors.As(s.Check(), &ce) {
			t.Errorf("%s: %v", what, s.Check())
		}
	}
}

// What was removed in order is not missing, whatever is still in the files.
func TestStream_CheckTruncated(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	o := eventlog.StreamOptions{SegmentSize: 1000}
	s := openStream(t, dir, o)
	for _, step := range []func() error{
		func() error { return s.TruncateFront(50) },
		func() error { return s.TruncateBack(s.Next() - 30) },
		func() error { return s.TruncateBack(s.First()) },
		func() error { return s.TruncateFront(s.Next() + 100) },
		func() error { o.RetainBytes = 3000; return nil },
	} {
		pushN(t, s, 100)
		for range 2 {
			must(t, s.Check())
			closeStream(t, s)
			s = openStream(t, dir, o)
			must(t, step())
			step = func() error { return nil }
		}
	}
	closeStream(t, s)
	if err := s.Check(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
