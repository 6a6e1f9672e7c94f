package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

func copyTo(t testing.TB, from interface {
	Copy(ctx context.Context, dir string, progress func(done, total int64)) error
}) (dir string) {
	t.Helper()
	dir = filepath.Join(newDir(t), "copy")
	last := int64(0)
	err := from.Copy(context.Background(), dir, func(done, total int64) {
		if done <= last || done > total {
			t.Errorf("progress: %d of %d, after %d", done, total, last)
		}
		last = done
	})
	must(t, err)
	return dir
}

// A copy of a stream that is written has the events that were appended before, and opens as one that was closed.
func TestCopy_LiveStream(t *testing.T) {
	t.Parallel()
	dir, o := newDir(t), eventlog.StreamOptions{SegmentSize: 10_000}
	s, r := openStream(t, dir, o), openStreamReader(t, dir)
	pushN(t, s, 500)
	must(t, s.TruncateBack(450)) // its segment stays longer than its events
	must(t, s.TruncateFront(60))
	for range 3 {
		for what, from := range map[string]interface {
			Copy(ctx context.Context, dir string, progress func(done, total int64)) error
		}{"Stream": s, "StreamReader": r} {
			before := s.Next()
			var g sync.WaitGroup
			g.Go(func() {
				for range 2 {
					pushN(t, s, 100)
					wantError(t, s.Roll(), nil, "Roll")
				}
			})
			to := copyTo(t, from)
			c := openStream(t, to, o)
			next := c.Next()
			if c.First() != 60 || next < before || c.Recovery().TruncatedBytes != 0 || c.Check() != nil {
				t.Errorf("%s: %d to %d, was %d; %+v, %v", what, c.First(), next, before, c.Recovery(), c.Check())
			}
			wantNth(t, c.Events(c.First()), c.First(), next)
			pushN(t, c, 10)
			closeStream(t, c)
			wantNth(t, openStreamReader(t, to).Events(60), 60, c.Next())
			g.Wait() // an append in progress may be visible before the writer counts it
			if next > s.Next() {
				t.Errorf("%s: up to %d, and the stream to %d", what, next, s.Next())
			}
		}
	}
	closeStream(t, s)
	c := openStreamReader(t, copyTo(t, r))
	wantNth(t, c.Events(60), 60, s.Next())
}

func TestCopy_Errors(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	to := filepath.Join(newDir(t), "copy")
	ctx, cancel := context.WithCancel(context.Background())
	if err := s.Copy(ctx, to, func(_, _ int64) { cancel() }); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	cut := func(_, _ int64) {
		if s.Next() == 100 {
			wantError(t, s.TruncateBack(90), nil, "TruncateBack")
		}
	}
	wantError(t, s.Copy(context.Background(), to, cut), eventlog.ErrTruncated, "truncated meanwhile")
	for _, name := range []string{to, to + ".tmp"} {
		wantError(t, errOf(os.Stat(name)), fs.ErrNotExist, "after an error")
	}
	wantError(t, s.Copy(context.Background(), filepath.Dir(to), nil), fs.ErrExist, "to a directory that is there")
	other := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, other, 100)
	want(t, other.Since(time.Now().Add(time.Hour))) // which keeps the times of the segments
	err := eventlog.CopyAfter(other, to, func() {
		wantError(t, other.TruncateBack(0), nil, "TruncateBack")
	})
	if !errors.Is(err, eventlog.ErrTruncated) {
		t.Errorf("truncated before the first segment: %v", err)
	}
	front := func(_, _ int64) {
		wantError(t, s.TruncateFront(50), nil, "TruncateFront")
		eventlog.WaitJobs(s)
	}
	must(t, s.Copy(context.Background(), to+string(filepath.Separator), front))
	c := openStream(t, to, eventlog.StreamOptions{})
	wantError(t, c.Check(), nil, "Check")
	wantNth(t, c.Events(c.First()), c.First(), 90)
	closeStream(t, s)
	wantError(t, s.Copy(context.Background(), to+"2", nil), os.ErrClosed, "after Close")
}

func TestStream_RollAndSegments(t *testing.T) {
	t.Parallel()
	dir, now := newDir(t), ticks()
	o := eventlog.StreamOptions{}
	o.Now = now
	s := openStream(t, dir, o)
	sealed := func(n int) []eventlog.Segment {
		t.Helper()
		list, err := s.Segments()
		if err != nil || len(list) != n {
			t.Fatalf("%d segments, %v, want %d", len(list), err, n)
		}
		return list
	}
	must(t, s.Roll()) // without events there is nothing to end
	sealed(0)
	for range 3 {
		pushN(t, s, 10)
		must(t, s.Roll())
		if d := s.Durable(); d != s.Next() {
			t.Errorf("durable up to %d of %d", d, s.Next())
		}
	}
	for i, g := range sealed(3) {
		fi, err := os.Stat(g.Name)
		if err != nil || g.First != int64(i)*10 || g.Next != g.First+10 || g.Bytes != fi.Size()-markSize {
			t.Errorf("segment %d: %+v, %v", i, g, err)
		}
		first, err1 := s.Get(g.First)
		last, err2 := s.Get(g.Next - 1)
		end, err3 := g.LastTime()
		if err := errors.Join(err1, err2, err3); err != nil || !g.Time.Equal(first.Time) || !end.Equal(last.Time) {
			t.Errorf("segment %d: from %v to %v, %v", i, g.Time, end, err)
		}
	}
	must(t, s.TruncateBack(25))
	if g := sealed(3)[2]; g.Next != 25 || g.Bytes >= sealed(3)[0].Bytes {
		t.Errorf("after TruncateBack: %+v", g)
	}
	if end, err := sealed(3)[2].LastTime(); err != nil || end.IsZero() {
		t.Error(end, err)
	}
	closeStream(t, s)
	wantError(t, s.Roll(), os.ErrClosed, "Roll after Close")
	wantError(t, errOf(s.Segments()), os.ErrClosed, "Segments after Close")
}

func TestWaitDurable_OfOthers(t *testing.T) {
	t.Parallel()
	s := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 3000})
	seqs := make(chan int64, 100)
	var g sync.WaitGroup
	g.Go(func() {
		defer close(seqs)
		for range 300 {
			seq, err := s.Append([]byte(nth(s.Next())))
			if err != nil {
				t.Error(err)
			}
			seqs <- seq
		}
	})
	for range 4 {
		g.Go(func() {
			for seq := range seqs {
				if err := s.WaitDurable(context.Background(), seq); err != nil || s.Durable() <= seq {
					t.Errorf("event %d: %v, durable up to %d", seq, err, s.Durable())
				}
			}
		})
	}
	g.Wait()
	wantError(t, s.WaitDurable(context.Background(), s.Next()), fs.ErrNotExist, "of the next event")
	pushN(t, s, 1)
	release := eventlog.HoldFlush(eventlog.ActiveLog(s))
	ctx, cancel := context.WithCancel(context.Background())
	waits := make(chan error)
	go func() { waits <- s.WaitDurable(ctx, s.Next()-1) }()
	cancel()
	if err := <-waits; err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	release()
	wantError(t, s.WaitDurable(context.Background(), s.Next()-1), nil, "WaitDurable")
	closeStream(t, s)
	wantError(t, s.WaitDurable(context.Background(), s.Next()-1), nil, "WaitDurable") // Close has made it durable
}

// A loop that takes only what is durable never yields an event that is not.
func TestFollow_OnlyDurable(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 3000})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	pushN(t, s, 10)
	wantNth(t, s.Events(0, eventlog.OnlyDurable), 0, s.Durable())
	must(t, s.Sync())
	pushN(t, s, 10)
	wantNth(t, s.Events(0, eventlog.OnlyDurable), 0, 10)
	wantNth(t, s.Events(0), 0, 20)
	const n = 500
	var g sync.WaitGroup
	g.Go(func() {
		next := int64(0)
		for e, err := range s.Follow(ctx, 0, eventlog.OnlyDurable) {
			if err != nil || e.Seq != next || e.Seq >= s.Durable() || string(e.Data) != nth(next) {
				t.Errorf("event %d, %v, want %d; durable up to %d", e.Seq, err, next, s.Durable())
				return
			}
			if next++; next == n {
				return
			}
		}
	})
	r := openStreamReader(t, dir)
	g.Go(func() { // and one that knows of segments alone
		next := int64(0)
		for e, err := range r.Follow(ctx, 0, eventlog.OnlyDurable) {
			names := segments(t, dir)
			active := eventlog.FirstOf(names[len(names)-1])
			if err != nil || e.Seq != next || e.Seq >= active || string(e.Data) != nth(next) {
				t.Errorf("reader: event %d, %v, want %d; the last segment begins with %d", e.Seq, err, next, active)
				return
			}
			if next++; next == n {
				return
			}
		}
	})
	for s.Next() < n {
		pushN(t, s, 7)
		if s.Next()%3 == 0 {
			must(t, s.Sync())
		}
		if s.Next()%10 == 0 {
			must(t, s.Roll())
		}
	}
	last := s.Next()
	must(t, s.Roll())
	g.Wait()
	pushN(t, s, 5)
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, last)
	if keepsRoom { // nor is a file that is open removed
		must(t, r.Close())
	}
	must(t, s.TruncateBack(last-3))
	if keepsRoom {
		r = openStreamReader(t, dir)
	}
	pushN(t, s, 5)
	must(t, s.Roll())
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, last+2)
	pushN(t, s, 5)
	closeStream(t, s)
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, last+7)
}

// A copy ends with the stream: what the next writer does is not in it.
func TestStream_CopyPastClose(t *testing.T) {
	t.Parallel()
	dir, dst := newDir(t), filepath.Join(newDir(t), "copy")
	o := eventlog.StreamOptions{SegmentSize: 2000}
	s := openStream(t, dir, o)
	pushN(t, s, 200)
	closed := false
	err := s.Copy(t.Context(), dst, func(done, total int64) {
		if closed {
			return
		}
		closed = true
		closeStream(t, s)
		next := openStream(t, dir, o)
		wantError(t, next.TruncateBack(eventlog.FirstOf(segments(t, dir)[2])), nil, "TruncateBack")
		pushN(t, next, 200)
	})
	if !closed || !errors.Is(err, os.ErrClosed) {
		t.Errorf("a copy of a stream that was closed meanwhile: %v", err)
	}
	wantError(t, errOf(os.Stat(dst)), fs.ErrNotExist, "after the error there is a copy")
}

// A segment that was closed, but not truncated, has an end mark: see FORMAT.md.
func TestOnlyDurable_EndMark(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 10)
	closeStream(t, s)
	name := segments(t, dir)[0]
	b := get(t, name)
	r := openStreamReader(t, dir)
	later := bytes.Clone(b)
	binary.LittleEndian.PutUint64(later, uint64(len(b))+100)
	put(t, name, later) // its writer has opened it again since the reader asked for its size
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, 0)
	put(t, name, append(b, make([]byte, 4096)...))
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, 0) // its writer may have been killed before a flush
	put(t, name, append(append(b[:len(b)-markSize], make([]byte, 4096)...), b[len(b)-markSize:]...))
	wantNth(t, r.Events(0, eventlog.OnlyDurable), 0, 10) // as on Windows, where a file that is mapped is not truncated
	wantNth(t, r.Events(0), 0, 10)
	must(t, r.Close())
	s = openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 10)
	closeStream(t, s)
	wantNth(t, openStreamReader(t, dir).Events(0, eventlog.OnlyDurable), 0, 20)
}

// The header of a segment that has ended says what Segments returns, and how much Copy copies.
func TestStream_SegmentsWithDamagedHeader(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 5)
	must(t, s.Roll())
	pushN(t, s, 5)
	name := segments(t, dir)[0]
	whole := get(t, name)
	for what, header := range map[string][]uint64{
		"a negative end":           {math.MaxUint64, 5},
		"an end inside the header": {8, 5},
		"an end after the file":    {1 << 40, 5},
		"no events":                {24, 0},
		"too many events":          {uint64(len(whole)), 6},
	} {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint64(b, header[0])
		binary.LittleEndian.PutUint64(b[8:], header[1])
		put(t, name, b)
		list, err := s.Segments()
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: Segments: %+v, %v", what, list, err)
		}
		dst := filepath.Join(newDir(t), "copy")
		err = s.Copy(t.Context(), dst, nil)
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: Copy: %v", what, err)
		}
	}
}

func TestSegment_LastTimeOfTruncated(t *testing.T) {
	t.Parallel()
	o := eventlog.StreamOptions{}
	o.Now = ticks()
	s := openStream(t, newDir(t), o)
	pushN(t, s, 10)
	must(t, s.Roll())
	list, err := s.Segments()
	must(t, err)
	for _, next := range []int64{10, 9, 0} {
		must(t, s.TruncateBack(next))
		if next == 0 {
			push(t, s, "another first event of another length")
			pushN(t, s, 20)
		}
		last, err := list[0].LastTime()
		if next == 10 && (err != nil || !last.After(list[0].Time)) || next < 10 && !errors.Is(err, eventlog.ErrTruncated) {
			t.Errorf("after TruncateBack(%d): %v, %v", next, last, err)
		}
	}
}

// It waits for the flush that has the event, and not for one that has later events.
func TestWaitDurable_WaitsForTheEventAlone(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	l := eventlog.ActiveLog(s)
	pushN(t, s, 10)
	end := eventlog.Visible(l)
	pushN(t, s, 10)
	defer eventlog.HoldFlush(l)()
	waits := make(chan error, 1)
	go func() { waits <- s.WaitDurable(context.Background(), 7) }()
	filetest.Eventually(func() bool { return eventlog.Waiters(l) > 0 })
	eventlog.FlushTo(l, end)
	filetest.Within(t, func() {
		if err := <-waits; err != nil {
			t.Error(err)
		}
	})
}

// An event that TruncateBack removes meanwhile did not become durable, and one before it did.
func TestWaitDurable_Truncated(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	pushN(t, s, 20)
	l := eventlog.ActiveLog(s)
	release := eventlog.HoldFlush(l)
	waits := []chan error{make(chan error, 1), make(chan error, 1), make(chan error, 1)}
	for i, fn := range []func() error{
		func() error { return s.WaitDurable(context.Background(), 5) },
		func() error { return s.WaitDurable(context.Background(), 15) },
		func() error { return s.TruncateBack(10) }, // which flushes after it has begun
	} {
		go func() { waits[i] <- fn() }()
		waitUntil(t, "it waits for the flush", func() bool { return eventlog.Waiters(l) > i })
	}
	release()
	for i, want := range []error{nil, eventlog.ErrTruncated, nil} {
		wantError(t, <-waits[i], want, []string{"event 5", "event 15", "TruncateBack"}[i])
	}
}

// For numbers before the first there is nothing to wait for.
func TestWaitDurable_BeforeFirst(t *testing.T) {
	t.Parallel()
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	wantError(t, s.WaitDurable(context.Background(), s.Next()-1), nil, "the last event of an empty stream")
	pushN(t, s, 10)
	must(t, s.TruncateFront(5))
	defer eventlog.HoldFlush(eventlog.ActiveLog(s))() // a flush would wait
	filetest.Within(t, func() {
		for _, seq := range []int64{-1, 0, 4} {
			if err := s.WaitDurable(context.Background(), seq); err != nil {
				t.Errorf("event %d: %v", seq, err)
			}
		}
	})
}

// A reader copies beside a truncation of all events, whose files are removed in the background.
func TestStreamReader_CopyBesideTruncateFront(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 300})
	r := openStreamReader(t, dir)
	for range 30 {
		pushN(t, s, 20)
		next := s.Next() + 10
		done := make(chan error, 1)
		go func() { done <- s.TruncateFront(next) }()
		for range 3 {
			c := openStream(t, copyTo(t, r), eventlog.StreamOptions{})
			if got := c.Next(); got != next-10 && got != next {
				t.Errorf("the copy ends before %d, not %d or %d", got, next-10, next)
			}
			wantNth(t, c.Events(c.First()), c.First(), c.Next())
			closeStream(t, c)
		}
		must(t, <-done)
	}
}
