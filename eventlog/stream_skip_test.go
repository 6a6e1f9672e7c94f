package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// TruncateFront past the end that fails leaves the stream as it was.
func TestStream_TruncateFrontFails(t *testing.T) {
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 20)
	restore := eventlog.FailMeta(s, 1)
	err := s.TruncateFront(30)
	restore()
	if err == nil || s.First() != 0 || s.Next() != 20 {
		t.Fatalf("%v, %d to %d", err, s.First(), s.Next())
	}
	pushN(t, s, 20)
	must(t, s.Sync())
	wantNth(t, openStreamReader(t, dir).Events(0), 0, 40)
	closeStream(t, s)
	s = openStream(t, dir, eventlog.StreamOptions{})
	wantNth(t, s.Events(0), 0, 40)
	must(t, s.TruncateFront(50))
	pushN(t, s, 20)
	wantNth(t, s.Events(50), 50, 70)
	closeStream(t, s)
}

// A truncation needs no segment. The next append begins one, and tries again after an error. Until then the
// stream can be read, copied, truncated, closed and opened.
func TestStream_BetweenSegments(t *testing.T) {
	t.Parallel()
	for _, next := range []int64{0, 15, 30} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 300})
		r := openStreamReader(t, dir)
		pushN(t, s, 20)
		truncate := func(next int64) error {
			if next > s.Next() {
				return s.TruncateFront(next)
			}
			return s.TruncateBack(next)
		}
		must(t, truncate(next))
		first := s.First()
		restore := inTheWay(t, dir, fmt.Sprintf("%020d.log", next))
		if _, err := s.AppendSync(nil); err == nil {
			t.Errorf("%d: Append: no error", next)
		}
		restore()
		if s.First() != first || s.Next() != next || s.Durable() != next {
			t.Errorf("%d to %d, durable %d, want %d to %d", s.First(), s.Next(), s.Durable(), first, next)
		}
		wantNth(t, s.Events(first), first, next)
		wantNth(t, r.Events(first), first, next)
		wantNth(t, r.Events(first, eventlog.OnlyDurable), first, next)
		if n, err := r.Next(); n != next || err != nil {
			t.Errorf("a reader has %d, %v, want %d", n, err, next)
		}
		wantError(t, errOf(r.Get(next)), fs.ErrNotExist, "Get")
		must(t, errors.Join(s.Sync(), s.WaitDurable(t.Context(), next-1), s.Check(), s.TruncateBack(next), s.TruncateFront(first)))
		list, err := s.Segments()
		if n := len(list); err != nil || n > 0 && list[n-1].Next != next {
			t.Errorf("Segments: %+v, %v", list, err)
		}
		backup := copyTo(t, s)
		c := openStream(t, backup, eventlog.StreamOptions{})
		wantNth(t, c.Events(first), first, next)
		pushN(t, c, 5)
		wantNth(t, c.Events(first), first, next+5)
		closeStream(t, c)
		again := copyTo(t, r)
		c = openStream(t, again, eventlog.StreamOptions{})
		wantNth(t, c.Events(first), first, next)
		closeStream(t, c)
		if next == 15 {
			closeStream(t, s)
			s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 300})
		}
		pushN(t, s, 20)
		wantNth(t, s.Events(first), first, next+20)
		wantNth(t, r.Events(first), first, next+20)
		must(t, s.Roll())
		wantNth(t, r.Events(first, eventlog.OnlyDurable), first, next+20)
		closeStream(t, s)
	}
}

// inTheWay makes a directory that has the name of a file until it is removed.
func inTheWay(t *testing.T, dir, name string) (remove func()) {
	t.Helper()
	name = filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Join(name, "full"), 0o777))
	return func() {
		// Not os.RemoveAll, which cannot do that under wine.
		must(t, errors.Join(os.Remove(filepath.Join(name, "full")), os.Remove(name)))
	}
}

// A process that is killed in TruncateFront past the end has removed all events, or none.
func TestStream_TruncateFrontKilled(t *testing.T) {
	t.Parallel()
	dir, killed := newDir(t), []string(nil)
	tracing := false
	eventlog.Trace(dir, func(string, string) {
		if !tracing {
			return
		}
		image := newDir(t)
		wantError(t, os.CopyFS(image, os.DirFS(dir)), nil, "CopyFS")
		killed = append(killed, image)
	})
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	eventlog.WaitJobs(s)
	tracing = true
	must(t, s.TruncateFront(200))
	eventlog.WaitJobs(s)
	tracing = false
	none := 0
	for i, image := range killed {
		s := openStream(t, image, eventlog.StreamOptions{SegmentSize: 1000})
		switch {
		case s.First() == 0 && s.Next() == 100:
			wantNth(t, s.Events(0), 0, 100)
		case s.First() == 200 && s.Next() == 200:
			none++
		default:
			t.Errorf("image %d has events %d to %d", i, s.First(), s.Next())
		}
		pushN(t, s, 20)
		wantNth(t, s.Events(s.First()), s.First(), s.Next())
		closeStream(t, s)
		if names, _ := filepath.Glob(filepath.Join(image, "*.tmp")); len(names) > 0 {
			t.Errorf("image %d has %v", i, names)
		}
	}
	if none == 0 {
		t.Error("all images have all events")
	}
}

// Until an append has begun the next segment after TruncateFront past the end, loops that begin with First find no
// event, and no error.
func TestStream_TruncateFrontBegun(t *testing.T) {
	t.Parallel()
	dir, image := newDir(t), newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	names := segments(t, dir)
	name := names[len(names)-1]
	last, err := os.ReadFile(name)
	must(t, err)
	must(t, s.TruncateFront(200))
	if s.Next() != 200 {
		t.Errorf("next is %d", s.Next())
	}
	wantNth(t, s.Events(200), 200, 200)
	eventlog.WaitJobs(s)
	must(t, os.CopyFS(image, os.DirFS(dir)))
	must(t, os.WriteFile(filepath.Join(image, filepath.Base(name)), last, 0o666)) // as if it was not removed yet
	r := openStreamReader(t, image)
	if first, err := r.First(); first != 200 || err != nil {
		t.Fatal(first, err)
	}
	wantNth(t, r.Events(200), 200, 200)
	for _, err := range r.Follow(&fewSteps{t.Context(), 20}, 200) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	pushN(t, openStream(t, image, eventlog.StreamOptions{}), 20)
	wantNth(t, r.Events(200), 200, 220)
}

// fewSteps is a context that is canceled after some calls of Err.
type fewSteps struct {
	context.Context
	left int
}

func (c *fewSteps) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
