package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// newDir is a directory for a stream. See newName.
func newDir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(newName(t))
}

func openStream(t testing.TB, dir string, o eventlog.StreamOptions) *eventlog.Stream {
	t.Helper()
	s, err := eventlog.OpenStream(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, s)
	return s
}

func openStreamReader(t testing.TB, dir string) *eventlog.StreamReader {
	t.Helper()
	r, err := eventlog.OpenStreamReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, r)
	return r
}

func closeStream(t testing.TB, s *eventlog.Stream) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// push appends events with these data, and checks their numbers.
func push(t testing.TB, s *eventlog.Stream, data ...string) {
	t.Helper()
	for _, d := range data {
		next := s.Next()
		if seq, err := s.Append([]byte(d)); err != nil || seq != next {
			t.Fatalf("Append: %d, %v, want %d", seq, err, next)
		}
	}
}

// pushN appends n events that tell their number.
func pushN(t testing.TB, s *eventlog.Stream, n int) {
	t.Helper()
	for range n {
		push(t, s, nth(s.Next()))
	}
}

// nth is the data of event seq in tests that do not care: 40 bytes or so.
func nth(seq int64) string { return fmt.Sprintf("event %d %s", seq, strings.Repeat("x", 30)) }

// wantNth checks that events are those from number from up to the one before to.
func wantNth(t testing.TB, events func(yield func(eventlog.Event, error) bool), from, to int64) {
	t.Helper()
	seq := from
	for e, err := range events {
		if err != nil {
			t.Fatalf("at %d: %v", seq, err)
		}
		if e.Seq != seq || string(e.Data) != nth(seq) {
			t.Fatalf("event %d %.40q, want %d", e.Seq, e.Data, seq)
		}
		seq++
	}
	if seq != to {
		t.Fatalf("the events end at %d, want %d", seq, to)
	}
}

func segments(t testing.TB, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestStream_SegmentsAndGet(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	o := eventlog.StreamOptions{SegmentSize: 1000}
	s, r := openStream(t, dir, o), openStreamReader(t, dir)
	for round := range 4 {
		n := int64(round) * 100
		if s.First() != 0 || s.Next() != n {
			t.Fatalf("round %d: %d to %d, want 0 to %d", round, s.First(), s.Next(), n)
		}
		pushN(t, s, 100)
		wantNth(t, s.Events(0), 0, n+100)
		wantNth(t, r.Events(n/2), n/2, n+100)
		for seq := range n + 100 {
			for _, get := range []func(int64) (eventlog.Event, error){s.Get, r.Get} {
				if e, err := get(seq); err != nil || e.Seq != seq || string(e.Data) != nth(seq) {
					t.Fatalf("Get(%d): %d %.40q, %v", seq, e.Seq, e.Data, err)
				}
			}
		}
		for _, seq := range []int64{n + 100, n + 101, 1 << 62} {
			if _, err := s.Get(seq); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get(%d): %v", seq, err)
			}
			if _, err := r.Get(seq); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get(%d) of a reader: %v", seq, err)
			}
		}
		if next, err := r.Next(); next != n+100 || err != nil {
			t.Errorf("Next of a reader: %d, %v, want %d", next, err, n+100)
		}
		if err := s.Sync(); err != nil || s.Durable() != s.Next() {
			t.Errorf("Sync: %v, durable up to %d of %d", err, s.Durable(), s.Next())
		}
		closeStream(t, s)
		wantNth(t, r.Events(0), 0, n+100)
		s = openStream(t, dir, o)
		if rec := s.Recovery(); rec.Cut != 0 || rec.Kept != "" {
			t.Errorf("after Close: %+v", rec)
		}
	}
	if n := len(segments(t, dir)); n < 20 {
		t.Errorf("%d segments", n)
	}
	for _, name := range segments(t, dir) {
		var first int64
		if _, err := fmt.Sscanf(filepath.Base(name), "%020d.log", &first); err != nil {
			t.Fatal(err)
		}
		for e, err := range openReader(t, name).Events(0) {
			if err != nil || string(e.Data) != nth(first) {
				t.Fatalf("%s: %q, %v, want %d", name, e.Data, err, first)
			}
			first++
		}
	}
}

func TestStream_LargeEventsAndBatches(t *testing.T) {
	t.Parallel()
	s := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 1000})
	big := strings.Repeat("b", 5000)
	push(t, s, "a", big, "c", big, big)
	if first, err := s.AppendBatch([]byte("1"), []byte(big), []byte("2")); err != nil || first != 5 {
		t.Fatalf("%d, %v", first, err)
	}
	if first, err := s.AppendBatch(); err != nil || first != 8 {
		t.Fatalf("an empty batch: %d, %v", first, err)
	}
	want(t, s.Events(0), "a", big, "c", big, big, "1", big, "2")
	if e, err := s.Get(6); err != nil || string(e.Data) != big {
		t.Errorf("Get: %d bytes, %v", len(e.Data), err)
	}
	seq, err := s.AppendSync([]byte("durable"))
	if err != nil || seq != 8 || s.Durable() != 9 {
		t.Errorf("AppendSync: %d, %v; durable up to %d", seq, err, s.Durable())
	}
}

func TestOpenStream_Errors(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for _, o := range []eventlog.StreamOptions{
		{SegmentSize: -1}, {RetainBytes: -1}, {RetainAge: -1}, {Options: eventlog.Options{MaxSize: 1}}, {Options: eventlog.Options{Grow: -1}},
	} {
		if _, err := eventlog.OpenStream(dir, o); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s := openStream(t, dir, eventlog.StreamOptions{})
	if _, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); locks && !errors.Is(err, eventlog.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	closeStream(t, s)
	if err := s.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	_, aerr := s.Append(nil)
	_, serr := s.AppendSync(nil)
	_, berr := s.AppendBatch(nil)
	_, gerr := s.Get(0)
	_, eerr := collect(s.Events(0))
	for i, err := range []error{aerr, serr, berr, gerr, eerr, s.Sync(), s.TruncateFront(1), s.TruncateBack(0)} {
		if pe := (*fs.PathError)(nil); !errors.Is(err, os.ErrClosed) || !errors.As(err, &pe) {
			t.Errorf("after Close, %d: %v", i, err)
		}
	}
	s = openStream(t, dir, eventlog.StreamOptions{})
	if _, err := eventlog.OpenStreamReader(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := eventlog.OpenStreamReader(filepath.Join(dir, "lock")); err == nil {
		t.Error("a file is no stream")
	}
}

// A stream does what a list does, for its writer and for a reader.
func TestStream_IsAListOfEvents(t *testing.T) {
	t.Parallel()
	rounds := 10
	if small() {
		rounds = 2
	}
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(11, uint64(round)))
		o := eventlog.StreamOptions{SegmentSize: []int64{100, 1000, 20_000}[rnd.IntN(3)]}
		o.Now = ticks()
		dir := newDir(t)
		s, r := openStream(t, dir, o), openStreamReader(t, dir)
		var model []string // of the events from first on
		first := int64(0)
		some := func() []byte { return []byte(fmt.Sprint(rnd.Uint64(), strings.Repeat("y", rnd.IntN(200)))) }
		for step := range 300 {
			next := first + int64(len(model))
			switch what := rnd.IntN(40); {
			case what < 20:
				p := some()
				var seq int64
				var err error
				if what == 0 {
					seq, err = s.AppendSync(p)
				} else {
					seq, err = s.Append(p)
				}
				if seq != next || err != nil {
					t.Fatalf("%d, %v, want %d", seq, err, next)
				}
				model = append(model, string(p))
			case what < 24:
				p, q := some(), some()
				if seq, err := s.AppendBatch(p, q); seq != next || err != nil {
					t.Fatalf("%d, %v, want %d", seq, err, next)
				}
				model = append(model, string(p), string(q))
			case what < 30 && len(model) > 0:
				i := rnd.Int64N(int64(len(model)))
				for _, get := range []func(int64) (eventlog.Event, error){s.Get, r.Get} {
					if e, err := get(first + i); err != nil || string(e.Data) != model[i] || e.Seq != first+i {
						t.Fatalf("round %d, step %d: Get(%d): %.40q, %v, want %.40q", round, step, first+i, e.Data, err, model[i])
					}
				}
				if _, err := s.Get(first - 1); !errors.Is(err, eventlog.ErrTruncated) {
					t.Fatalf("before the first: %v", err)
				}
			case what < 32:
				i := rnd.IntN(len(model) + 1)
				if err := s.TruncateBack(first + int64(i)); err != nil {
					t.Fatal(err)
				}
				model = model[:i]
			case what < 34:
				i := rnd.IntN(len(model) + 1)
				if err := s.TruncateFront(first + int64(i)); err != nil {
					t.Fatal(err)
				}
				first, model = first+int64(i), model[i:]
			case what == 34 && rnd.IntN(4) == 0:
				first += int64(len(model)) + 1 + rnd.Int64N(10)
				model = nil
				if err := s.TruncateFront(first); err != nil {
					t.Fatal(err)
				}
			case what == 35:
				closeStream(t, s)
				s = openStream(t, dir, o)
			case what == 36:
				if err := s.Sync(); err != nil || s.Durable() != next {
					t.Fatalf("Sync: %v, durable up to %d of %d", err, s.Durable(), next)
				}
			default:
				i := rnd.IntN(len(model) + 1)
				want(t, s.Events(first+int64(i)), model[i:]...)
				want(t, r.Events(first+int64(i)), model[i:]...)
			}
			if s.First() != first || s.Next() != first+int64(len(model)) {
				t.Fatalf("round %d, step %d: %d to %d, want %d to %d", round, step, s.First(), s.Next(), first, first+int64(len(model)))
			}
			rf, ferr := r.First()
			rn, nerr := r.Next()
			if rf != first || rn != s.Next() || ferr != nil || nerr != nil {
				t.Fatalf("round %d, step %d: a reader has %d to %d, %v, %v, want %d to %d", round, step, rf, rn, ferr, nerr, first, s.Next())
			}
		}
		closeStream(t, s)
		want(t, r.Events(first), model...)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

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
	if err := s.TruncateFront(-1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("TruncateFront(-1): %v", err)
	}
	if err := s.TruncateFront(50); err != nil {
		t.Fatal(err)
	}
	if err := s.TruncateBack(49); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("TruncateBack(49): %v", err)
	}
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
	if err := s.TruncateFront(1000); err != nil {
		t.Fatal(err)
	}
	pushN(t, s, 50)
	closeStream(t, s)
	s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	wantNth(t, s.Events(1000), 1000, 1050)
	wantNth(t, r.Events(1000), 1000, 1050)
}

// What a loop has does not change, whatever becomes of the stream.
func TestStream_DataStaysInALoop(t *testing.T) {
	t.Parallel()
	for _, truncate := range []string{"front", "back", "retention"} {
		dir := newDir(t)
		o := eventlog.StreamOptions{SegmentSize: 4000}
		if truncate == "retention" {
			o.RetainBytes = 8000
		}
		s, r := openStream(t, dir, o), openStreamReader(t, dir)
		pushN(t, s, 100)
		for _, events := range []func(int64) func(func(eventlog.Event, error) bool){
			func(from int64) func(func(eventlog.Event, error) bool) { return s.Events(from) },
			func(from int64) func(func(eventlog.Event, error) bool) { return r.Events(from) },
		} {
			pushN(t, s, 100)
			eventlog.WaitJobs(s)
			from, n, removed := s.First(), 0, false
			for e, err := range events(from) {
				if n++; n == 1 {
					switch truncate {
					case "front":
						if err := s.TruncateFront(s.Next()); err != nil {
							t.Fatal(err)
						}
					case "back":
						if err := s.TruncateBack(from); err != nil {
							t.Fatal(err)
						}
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
			if err := s.TruncateFront(s.Next()); err != nil {
				t.Fatal(err)
			}
			pushN(t, s, 100)
		}
		closeStream(t, s)
	}
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

func TestStream_Since(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	o := eventlog.StreamOptions{SegmentSize: 1000}
	o.Now = ticks()
	s := openStream(t, dir, o)
	pushN(t, s, 200)
	all, err := collect(s.Events(0))
	if err != nil {
		t.Fatal(err)
	}
	r := openStreamReader(t, dir)
	for seq, e := range all {
		wantNth(t, s.Since(e.Time), int64(seq), 200)
		wantNth(t, r.Since(e.Time), int64(seq), 200)
	}
	wantNth(t, s.Since(time.Time{}), 0, 200)
	wantNth(t, s.Since(all[199].Time.Add(1)), 200, 200)
}

func TestOpenStream_Damaged(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(dir string, names []string) error{
		"meta": func(dir string, _ []string) error {
			return os.WriteFile(filepath.Join(dir, "meta"), bytes.Repeat([]byte("x"), 8192), 0o600)
		},
		"a segment is missing": func(_ string, names []string) error { return os.Remove(names[len(names)-2]) },
		"a segment has a wrong name": func(_ string, names []string) error {
			return os.Rename(names[len(names)-1], names[len(names)-1][:len(names[0])-5]+"9.log")
		},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
		pushN(t, s, 100)
		closeStream(t, s)
		if err := damage(dir, segments(t, dir)); err != nil {
			t.Fatal(err)
		}
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: %v", what, err)
		}
		r, err := eventlog.OpenStreamReader(dir)
		if err == nil {
			_, err = collect(r.Events(0))
			r.Close()
		}
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: a reader: %v", what, err)
		}
	}
}

// A segment in the middle that is missing, or has another number of events, is found by its
// readers.
func TestStream_DamagedInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	closeStream(t, s)
	if err := os.Remove(segments(t, dir)[3]); err != nil {
		t.Fatal(err)
	}
	s = openStream(t, dir, eventlog.StreamOptions{})
	all, err := collect(s.Events(0))
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) || len(all) < 30 {
		t.Errorf("%d events, %v", len(all), err)
	}
	_, err = s.Get(int64(len(all)))
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
		t.Errorf("Get: %v", err)
	}
}
