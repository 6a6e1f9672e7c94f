package eventlog_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

func TestStream_Truncated(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, r := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000}), openStreamReader(t, dir)
	pushN(t, s, 100)
	for _, n := range []int64{-1, 101} {
		if err := s.TruncateBack(n); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("TruncateBack(%d): %v", n, err)
		}
	}
	wantError(t, s.TruncateFront(-1), fs.ErrInvalid, "TruncateFront(-1)")
	wantError(t, s.TruncateFront(math.MaxInt64), fs.ErrInvalid, "TruncateFront(MaxInt64)")
	must(t, s.TruncateFront(50))
	wantError(t, s.TruncateBack(49), fs.ErrInvalid, "TruncateBack(49)")
	if err := s.TruncateFront(20); err != nil || s.First() != 50 {
		t.Errorf("TruncateFront(20): %v, First is %d", err, s.First())
	}
	for _, from := range []int64{-1, 0, 49} {
		_, gerr := s.Get(from)
		_, rerr := r.Get(from)
		_, eerr := collect(s.Events(from))
		_, ierr := collect(r.Events(from))
		_, ferr := collect(r.Follow(context.Background(), from))
		for i, err := range []error{gerr, rerr, eerr, ierr, ferr} {
			if !errors.Is(err, eventlog.ErrTruncated) {
				t.Errorf("%d from %d: %v", i, from, err)
			}
		}
	}
	for _, from := range []int64{101, 1 << 60} {
		_, eerr := collect(s.Events(from))
		_, ierr := collect(r.Events(from))
		_, ferr := collect(r.Follow(context.Background(), from))
		for i, err := range []error{eerr, ierr, ferr} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%d from %d: %v", i, from, err)
			}
		}
	}
	wantNth(t, r.Events(100), 100, 100)
	if err := s.TruncateFront(100); err != nil || s.First() != 100 || s.Next() != 100 {
		t.Errorf("all events are removed: %v, %d to %d", err, s.First(), s.Next())
	}
	pushN(t, s, 50)
	wantNth(t, r.Events(100), 100, 150)
	must(t, s.TruncateFront(1000))
	pushN(t, s, 50)
	closeStream(t, s)
	s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	wantNth(t, s.Events(1000), 1000, 1050)
	wantNth(t, r.Events(1000), 1000, 1050)
}

// The data of an event in the body of a loop does not change when the stream is truncated.
func TestStream_DataStaysInALoop(t *testing.T) {
	t.Parallel()
	for _, truncate := range []string{"front", "back", "retention"} {
		if truncate == "back" && runtime.GOOS == "windows" {
			continue // it removes no file that is open
		}
		dir := newDir(t)
		o := eventlog.StreamOptions{SegmentSize: 4000}
		if truncate == "retention" {
			o.RetainBytes = 8000
		}
		s, r := openStream(t, dir, o), openStreamReader(t, dir)
		pushN(t, s, 100)
		for _, events := range []func(int64, ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]{s.Events, r.Events} {
			pushN(t, s, 100)
			eventlog.WaitJobs(s)
			from, n, removed := s.First(), 0, false
			for e, err := range events(from) {
				if n++; n == 1 {
					switch truncate {
					case "front":
						must(t, s.TruncateFront(s.Next()))
					case "back":
						must(t, s.TruncateBack(from))
					}
					for range 300 {
						push(t, s, strings.Repeat("new", 20))
					}
					eventlog.WaitJobs(s)
				} else if errors.Is(err, eventlog.ErrTruncated) {
					removed = true // after those that were verified together
					break
				}
				if err != nil || string(e.Data) != nth(from+int64(n)-1) {
					t.Fatalf("%s: event %d is %.40q, %v", truncate, n, e.Data, err)
				}
			}
			if n < 10 || !removed {
				t.Errorf("%s: %d events, ErrTruncated: %v", truncate, n, removed)
			}
			must(t, s.TruncateFront(s.Next()))
			pushN(t, s, 100)
		}
		closeStream(t, s)
	}
}

// A panic of Options.Now in the append that begins a segment after TruncateBack leaves the stream as it is.
func TestStream_TruncateBackPanics(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	o := eventlog.StreamOptions{SegmentSize: 1000}
	var fails atomic.Bool
	o.Now = func() time.Time {
		if fails.Load() {
			panic("no time")
		}
		return time.Now()
	}
	s := openStream(t, dir, o)
	pushN(t, s, 20)
	must(t, s.TruncateBack(10))
	fails.Store(true)
	func() {
		defer func() {
			if r := recover(); r != "no time" {
				t.Errorf("Append: %v", r)
			}
		}()
		s.Append(nil)
	}()
	fails.Store(false)
	pushN(t, s, 5)
	closeStream(t, s)
	s = openStream(t, dir, o)
	pushN(t, s, 5)
	wantNth(t, s.Events(0), 0, 20)
}

// An event that TruncateBack removes stays in the file, for a loop that has it: in its body the
// data do not change. That holds for the next writer, too, also if the first was killed.
func TestStream_DataStaysInACutSegment(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, r := openStream(t, dir, eventlog.StreamOptions{}), openStreamReader(t, dir)
	data := func(i int) string { return strings.Repeat(string(rune('a'+i)), 50_000) }
	for i := range 6 {
		push(t, s, data(i))
	}
	last := int64(0)
	for e, err := range r.Events(4) {
		must(t, err)
		check := func(what string) {
			t.Helper()
			if string(e.Data) != data(4) {
				t.Fatalf("after %s the data have changed", what)
			}
		}
		must(t, s.TruncateBack(2))
		eventlog.WaitJobs(s)
		check("TruncateBack")
		push(t, s, data(7))
		closeStream(t, s)
		s = openStream(t, dir, eventlog.StreamOptions{})
		check("OpenStream")
		closeStream(t, s)
		putMeta(t, dir, meta{generation: 1 << 20, truncatedTo: 2, truncations: 1, flags: 1})
		s = openStream(t, dir, eventlog.StreamOptions{})
		if s.Next() != 2 {
			t.Errorf("next is %d, want 2", s.Next())
		}
		check("a kill")
		last = e.Seq
		break
	}
	if last != 4 {
		t.Errorf("the loop ended at %d", last)
	}
	push(t, s, data(8))
	want(t, s.Events(0), data(0), data(1), data(8))
	want(t, r.Events(0), data(0), data(1), data(8))
}

// A segment is a log: a Reader that has it open sees the same events after it was removed.
func TestStream_ReaderOfRemovedSegment(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	pushN(t, s, 200)
	must(t, s.Sync())
	l := openReader(t, segments(t, dir)[0])
	before, err := collect(l.Events(0))
	if err != nil || len(before) < 50 {
		t.Fatalf("%d events, %v", len(before), err)
	}
	for range 5 {
		eventlog.WaitJobs(s)
		must(t, s.TruncateFront(s.Next()))
		eventlog.WaitJobs(s)
		pushN(t, s, 200)
	}
	after, err := collect(l.Events(0))
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d events, %v, before %d", len(after), err, len(before))
	}
	for i := range after {
		if string(after[i].Data) != string(before[i].Data) {
			t.Errorf("event %d is %q, was %q", i, after[i].Data, before[i].Data)
		}
	}
}

// Segments that TruncateBack has cut are not verified again each time that the stream is opened.
func TestOpenStream_ManyCutSegments(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 3)
	for range 20 {
		pushN(t, s, 2)
		must(t, s.TruncateBack(s.Next()-1))
	}
	next := s.Next()
	closeStream(t, s)
	syncs := 0
	eventlog.Trace(dir, func(op, _ string) {
		if op == "sync" {
			syncs++
		}
	})
	s = openStream(t, dir, eventlog.StreamOptions{})
	if names := segments(t, dir); len(names) != 21 || syncs > 1 {
		t.Errorf("%d segments, %d flushes", len(names), syncs)
	}
	wantNth(t, s.Events(0), 0, next)
}

func TestStream_Retention(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var now atomic.Int64 // in seconds
	o := eventlog.StreamOptions{SegmentSize: 1000, RetainBytes: 3000}
	o.Now = func() time.Time { return time.Unix(1_700_000_000+now.Load(), 0) }
	pushSlowly := func(s *eventlog.Stream) {
		for range 500 {
			now.Add(1)
			pushN(t, s, 1)
		}
	}
	s := openStream(t, dir, o)
	pushSlowly(s)
	closeStream(t, s)
	if n := s.Size(); n > 4000 || n < 2000 {
		t.Errorf("%d bytes are left", n)
	}
	if n := len(segments(t, dir)); n < 3 || n > 5 {
		t.Errorf("%d segments are left", n)
	}
	o.RetainBytes, o.RetainAge = 0, time.Minute
	s = openStream(t, dir, o)
	first := s.First()
	pushSlowly(s)
	closeStream(t, s)
	if age := s.Next() - s.First(); s.First() == first || age < 60 || age > 120 {
		t.Errorf("%d to %d, an event a second", s.First(), s.Next())
	}
	o.RetainAge = 0
	s = openStream(t, dir, o)
	wantNth(t, s.Events(s.First()), s.First(), s.Next())
}

// A clock that was wrong for some segments does not keep RetainAge from removing the ones before, nor has it remove
// what is younger.
func TestStream_RetainAgeAfterExcursions(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, excursion := range []time.Duration{10 * 365 * 24 * hour, 2 * hour, -2 * hour, -10 * 365 * 24 * hour} {
		dir := newDir(t)
		begin := time.Unix(1_700_000_000, 0)
		now := begin
		o := eventlog.StreamOptions{SegmentSize: 100_000}
		o.Now = func() time.Time { return now }
		s := openStream(t, dir, o)
		add := func() { // ends a segment
			pushN(t, s, 1)
			must(t, s.Roll())
		}
		for i := range 12 { // a segment every ten minutes, of which three have a wrong time
			now = begin.Add(time.Duration(i) * 10 * time.Minute)
			if right := now; i >= 4 && i < 7 {
				now = now.Add(excursion)
				add()
				now = right
			} else {
				add()
			}
		}
		closeStream(t, s)
		o.RetainAge = hour
		for i := 12; i < 40; i++ {
			now = begin.Add(time.Duration(i) * 10 * time.Minute)
			s = openStream(t, dir, o)
			add()
			// Event k is that of minute 10·k, and its segment ends ten minutes later, when the next begins.
			if first := s.First(); first > int64(i)-6 || i > 24 && first < int64(i)-8 {
				t.Errorf("after an excursion of %v, at %d: the first event is %d", excursion, i, first)
			}
			closeStream(t, s)
		}
	}
}

// A start before that of the segment in front tells nothing, also while the clock is before both.
func TestStream_RetainAgeTwoSteps(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_700_000_000, 0)
	now := begin
	o := eventlog.StreamOptions{RetainAge: time.Hour}
	o.Now = func() time.Time { return now }
	s := openStream(t, newDir(t), o)
	for _, clock := range []time.Time{begin, begin.Add(time.Minute), time.Unix(60, 0), begin.Add(-100 * time.Hour), begin.Add(-99*time.Hour - 59*time.Minute)} {
		now = clock
		pushN(t, s, 1)
		must(t, s.Roll())
		eventlog.WaitJobs(s)
	}
	if first := s.First(); first > 0 {
		t.Errorf("the first event is %d", first)
	}
	closeStream(t, s)
}
