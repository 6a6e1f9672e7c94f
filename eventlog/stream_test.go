package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

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
		if rec := s.Recovery(); rec.TruncatedBytes != 0 || rec.SavedAs != "" {
			t.Errorf("after Close: %+v", rec)
		}
	}
	if n := len(segments(t, dir)); n < 20 {
		t.Errorf("%d segments", n)
	}
	for _, name := range segments(t, dir) {
		first := eventlog.FirstOf(name)
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

func TestStream_OpenErrors(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for _, o := range []eventlog.StreamOptions{
		{SegmentSize: -1}, {RetainBytes: -1}, {RetainAge: -1}, {Options: eventlog.Options{MaxSize: -1}}, {Options: eventlog.Options{Grow: -1}},
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
	wantError(t, s.Close(), os.ErrClosed, "a second Close")
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
	openStream(t, dir, eventlog.StreamOptions{})
	wantError(t, errOf(eventlog.OpenStreamReader(filepath.Join(dir, "none"))), fs.ErrNotExist, "no directory")
	if _, err := eventlog.OpenStreamReader(filepath.Join(dir, "lock")); err == nil {
		t.Error("a file is no stream")
	}
}

// What a killed writer, or one of an earlier version, has left for the next segment is not used.
func TestOpenStream_LeftoverFiles(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	closeStream(t, openStream(t, dir, eventlog.StreamOptions{}))
	old, _ := logOf(t, strings.Repeat("old", 1000))
	for _, name := range []string{"next.tmp"} {
		put(t, filepath.Join(dir, name), old)
	}
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	for range 10 {
		pushN(t, s, 30)
		must(t, s.Sync())
		eventlog.WaitJobs(s)
	}
	must(t, s.TruncateBack(290))
	closeStream(t, s)
	for _, name := range segments(t, dir) {
		if strings.Contains(string(get(t, name)), "oldold") {
			t.Errorf("%s has bytes of a file that was left", name)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	wantNth(t, openStreamReader(t, dir).Events(0), 0, 290)
}

// A stream whose directory is replaced, as by a restore from a backup, touches nothing in the
// other one, and goes on when its own is back.
func TestStream_ReplacedDirectory(t *testing.T) {
	t.Parallel()
	root := newDir(t)
	dir, backup, away := filepath.Join(root, "stream"), filepath.Join(root, "backup"), filepath.Join(root, "away")
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	pushN(t, s, 200)
	must(t, os.CopyFS(backup, os.DirFS(dir)))
	put(t, filepath.Join(backup, "next.tmp"), []byte("of the other"))
	pushN(t, s, 50)
	must(t, s.Sync())
	eventlog.WaitJobs(s)
	if err := os.Rename(dir, away); err != nil {
		t.Skip("a directory with open files cannot be renamed: ", err)
	}
	must(t, os.Rename(backup, dir))
	before := tree(t, dir)
	wantErr := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "replaced") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", what, err)
		}
	}
	acknowledged := s.Next()
	err := error(nil)
	for range 500 {
		var seq int64
		if seq, err = s.AppendSync([]byte(nth(acknowledged))); err == nil {
			if seq != acknowledged {
				t.Fatalf("event %d, want %d", seq, acknowledged)
			}
			acknowledged++
		}
	}
	wantErr("AppendSync", err)
	_, err = s.AppendBatch(make([]byte, 5000))
	wantErr("AppendBatch", err)
	_, err = s.Get(0)
	wantErr("Get", err)
	wantErr("TruncateFront", s.TruncateFront(150))
	wantErr("TruncateFront past the end", s.TruncateFront(1500))
	wantErr("TruncateBack", s.TruncateBack(100))
	wantErr("Check", s.Check())
	eventlog.WaitJobs(s)
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Error("the other directory has changed")
	}
	must(t, os.Rename(dir, backup))
	wantError(t, errOf(s.AppendBatch(make([]byte, 5000))), fs.ErrNotExist, "without a directory")
	must(t, os.Rename(away, dir))
	pushN(t, s, 200)
	closeStream(t, s)
	s = openStream(t, dir, eventlog.StreamOptions{})
	wantNth(t, s.Events(0), 0, acknowledged+200)
}

// tree returns the content of all files in dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		files[e.Name()] = string(get(t, filepath.Join(dir, e.Name())))
	}
	return files
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
		var model []string // data of the events from first on
		first := int64(0)
		some := func() []byte { return []byte(fmt.Sprint(rnd.Uint64(), strings.Repeat("y", rnd.IntN(200)))) }
		for step := range 300 {
			next := first + int64(len(model))
			switch what := rnd.IntN(47); {
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
				if runtime.GOOS == "windows" { // which removes no file that is open
					must(t, r.Close())
				}
				must(t, s.TruncateBack(first+int64(i)))
				if runtime.GOOS == "windows" {
					r = openStreamReader(t, dir)
				}
				model = model[:i]
			case what < 34:
				i := rnd.IntN(len(model) + 1)
				must(t, s.TruncateFront(first+int64(i)))
				first, model = first+int64(i), model[i:]
			case what == 34 && rnd.IntN(4) == 0:
				first += int64(len(model)) + 1 + rnd.Int64N(10)
				model = nil
				must(t, s.TruncateFront(first))
			case what == 35:
				closeStream(t, s)
				s = openStream(t, dir, o)
			case what == 36:
				if err := s.Sync(); err != nil || s.Durable() != next {
					t.Fatalf("Sync: %v, durable up to %d of %d", err, s.Durable(), next)
				}
			case what < 39:
				if err := s.Roll(); err != nil || s.Durable() != next {
					t.Fatalf("Roll: %v, durable up to %d of %d", err, s.Durable(), next)
				}
				list, err := s.Segments()
				if err != nil || len(list) > 0 && (list[len(list)-1].Next != next || list[0].First > first) {
					t.Fatalf("Segments: %+v, %v, want %d to %d", list, err, first, next)
				}
				want(t, r.Events(first, eventlog.OnlyDurable), model...)
			case what == 39 && len(model) > 0:
				i := rnd.IntN(len(model))
				if err := s.WaitDurable(context.Background(), first+int64(i)); err != nil || s.Durable() <= first+int64(i) {
					t.Fatalf("WaitDurable: %v, durable up to %d", err, s.Durable())
				}
				least := int(s.Durable() - first) // the segment before may be flushed meanwhile
				all, err := collect(s.Events(first, eventlog.OnlyDurable))
				if most := int(s.Durable() - first); err != nil || len(all) < least || len(all) > most {
					t.Fatalf("%d durable events, %v, want %d to %d", len(all), err, least, most)
				}
			case what == 40: // retention
				closeStream(t, s)
				with := o
				with.RetainBytes = 3 * o.SegmentSize
				closeStream(t, openStream(t, dir, with))
				s = openStream(t, dir, o)
				kept := s.First() - first
				if kept < 0 || kept > int64(len(model)) || kept > 0 && len(segments(t, dir)) > 4 && !keepsRoom { // nor a file that a reader has open
					t.Fatalf("after retention the first is %d, was %d; %v", s.First(), first, segments(t, dir))
				}
				first, model = first+kept, model[kept:]
			case what == 41 && rnd.IntN(3) == 0: // a copy, which may take the stream's place
				i := rnd.IntN(2)
				backup := copyTo(t, []interface {
					Copy(ctx context.Context, dir string, progress func(done, total int64)) error
				}{s, r}[i])
				if i == 0 && s.Durable() != next {
					t.Fatalf("copied up to %d, durable up to %d", next, s.Durable())
				}
				c := openStream(t, backup, o)
				if c.First() != first || c.Next() != next {
					t.Fatalf("the copy has %d to %d, want %d to %d", c.First(), c.Next(), first, next)
				}
				want(t, c.Events(first), model...)
				closeStream(t, c)
				if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
					break // see TestStreamReader_ReplacedStream
				}
				p := some()
				must(t, errOf(s.Append(p)))
				want(t, r.Events(next), string(p))
				must(t, errors.Join(os.Rename(dir, backup+".old"), os.Rename(backup, dir)))
				if err := s.Roll(); err == nil {
					t.Fatal("Roll in a directory that was replaced: no error")
				}
				s.Close()
				if all, err := collect(r.Events(first)); err == nil && len(all) != len(model)+1 {
					t.Fatalf("a reader of the old directory has %d events of %d and no error", len(all), len(model)+1)
				}
				r.Close()
				s, r = openStream(t, dir, o), openStreamReader(t, dir)
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
		must(t, r.Close())
	}
}

func TestStream_Since(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	o := eventlog.StreamOptions{SegmentSize: 1000}
	o.Now = ticks()
	s := openStream(t, dir, o)
	pushN(t, s, 200)
	all, err := collect(s.Events(0))
	must(t, err)
	r := openStreamReader(t, dir)
	for seq, e := range all {
		wantNth(t, s.Since(e.Time), int64(seq), 200)
		wantNth(t, r.Since(e.Time), int64(seq), 200)
	}
	wantNth(t, s.Since(time.Time{}), 0, 200)
	wantNth(t, s.Since(all[199].Time.Add(1)), 200, 200)
}

func TestStreamReader_Closed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3} { // none: a directory whose writer has not created meta yet
		dir := newDir(t)
		if n > 0 {
			pushN(t, openStream(t, dir, eventlog.StreamOptions{}), n)
		}
		r := openStreamReader(t, dir)
		must(t, r.Close())
		_, first := r.First()
		_, next := r.Next()
		_, get := r.Get(1)
		for what, err := range map[string]error{"First": first, "Next": next, "Get": get} {
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s after Close, %d events: %v", what, n, err)
			}
		}
	}
}

// Ages near the limits of int64 do not overflow.
func TestStream_RetainAgeExtremes(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	epoch := time.Unix(0, 0)
	for _, c := range []struct {
		what        string
		begun, now  time.Time
		age         time.Duration
		wantRemoved bool
	}{
		{"before 1970, younger", epoch.Add(-200 * 365 * day), epoch.Add(-200 * 365 * day), math.MaxInt64, false},
		{"before 1970, older", epoch.Add(-200 * 365 * day), epoch.Add(-200*365*day + 2*time.Hour), time.Hour, true},
		{"largest age", epoch, epoch.Add(math.MaxInt64), math.MaxInt64, false},
		{"from the future", epoch.Add(200 * 365 * day), epoch, time.Nanosecond, false},
		{"far apart", epoch.Add(math.MinInt64), epoch.Add(math.MaxInt64), math.MaxInt64, true},
	} {
		now := c.begun
		o := eventlog.StreamOptions{SegmentSize: 400, RetainAge: c.age}
		o.Now = func() time.Time { return now }
		dir := newDir(t)
		s := openStream(t, dir, o)
		pushN(t, s, 30)
		closeStream(t, s)
		before := s.First()
		now = c.now
		s = openStream(t, dir, o)
		if removed := s.First() > 0; removed != c.wantRemoved || before != 0 {
			t.Errorf("%s: the first event is %d, was %d", c.what, s.First(), before)
		}
		closeStream(t, s)
	}
}
