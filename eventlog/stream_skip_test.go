package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// TruncateFront past the end that fails leaves the stream as it was.
func TestStream_TruncateFrontFails(t *testing.T) {
	for what, fail := range map[string]func(s *eventlog.Stream, dir string) (restore func()){
		"meta": func(s *eventlog.Stream, _ string) func() { return eventlog.FailMeta(s, 1) },
		"file": func(_ *eventlog.Stream, dir string) func() { return inTheWay(t, dir, "skip.tmp") },
		"name": func(_ *eventlog.Stream, dir string) func() { return inTheWay(t, dir, fmt.Sprintf("%020d.log", 30)) },
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 20)
		restore := fail(s, dir)
		err := s.TruncateFront(30)
		restore()
		if err == nil || s.First() != 0 || s.Next() != 20 {
			t.Fatalf("%s: %v, %d to %d", what, err, s.First(), s.Next())
		}
		pushN(t, s, 20)
		if err := s.Sync(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		wantNth(t, openStreamReader(t, dir).Events(0), 0, 40)
		closeStream(t, s)
		s = openStream(t, dir, eventlog.StreamOptions{})
		wantNth(t, s.Events(0), 0, 40)
		if err := s.TruncateFront(50); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		pushN(t, s, 20)
		wantNth(t, s.Events(50), 50, 70)
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
	all, none := 0, 0
	for i, image := range killed {
		s := openStream(t, image, eventlog.StreamOptions{SegmentSize: 1000})
		switch {
		case s.First() == 0 && s.Next() == 100:
			wantNth(t, s.Events(0), 0, 100)
			all++
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
	if all == 0 || none == 0 {
		t.Errorf("%d images have all events, %d none", all, none)
	}
}

// Until TruncateFront past the end has created the next segment, and if it is killed before, loops
// that begin with First find no event, and no error.
func TestStream_TruncateFrontBegun(t *testing.T) {
	t.Parallel()
	dir, image := newDir(t), newDir(t)
	s := (*eventlog.Stream)(nil)
	eventlog.Trace(dir, func(op, _ string) {
		if op != "rename" || s.First() != 200 {
			return
		}
		if s.Next() != 200 {
			t.Errorf("next is %d", s.Next())
		}
		wantNth(t, s.Events(200), 200, 200)
		wantError(t, os.CopyFS(image, os.DirFS(dir)), nil, "CopyFS")
		os.Remove(filepath.Join(image, fmt.Sprintf("%020d.log", 200)))
	})
	s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	must(t, s.TruncateFront(200))
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
