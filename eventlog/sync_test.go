package eventlog_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

// waitUntil polls ok, for a minute at most.
func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !filetest.Eventually(ok) {
		t.Fatalf("still waiting until %s", what)
	}
}

func TestAppendSync_IsDurableAndVisible(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	r := openReader(t, name)
	if l.Durable() != 24 {
		t.Errorf("a new log is durable up to %d", l.Durable())
	}
	var data []string
	for i := range 300 { // more than one window of memory
		p := fmt.Sprintf("%*d", 1+i*7, i)
		data = append(data, p)
		off, err := l.AppendSync([]byte(p))
		if end := off + 16 + int64(len(p)); err != nil || l.Durable() != end || l.Size() != end {
			t.Fatalf("event %d at %d: durable up to %d of %d, %v", i, off, l.Durable(), l.Size(), err)
		}
		if i%3 == 0 { // through the memory, beside the system calls
			p = fmt.Sprint("func ", i)
			data = append(data, p)
			must(t, errOf(eventlog.AppendFunc(l, len(p), func(q []byte) error { copy(q, p); return nil })))
		}
	}
	want(t, r.Events(0), data...)
	must(t, l.Close())
	l = open(t, name, eventlog.Options{})
	if l.Durable() != l.Size() || l.Recovery().TruncatedBytes != 0 {
		t.Errorf("opened, durable up to %d of %d, %+v", l.Durable(), l.Size(), l.Recovery())
	}
	want(t, l.Events(0), data...)
}

func TestAppend_AfterSyncInAllWays(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	r := openReader(t, name)
	var data []string
	for round := range 4 {
		for i := range 200 { // more than are written by system call after a flush
			p := fmt.Sprint(round, " ", i)
			if i%50 == 7 {
				p = string(make([]byte, 70_000))
			}
			if i%4 == 0 {
				must(t, errOf(l.AppendBatch([]byte(p), []byte("x"), nil)))
				data = append(data, p, "x", "")
				continue
			}
			add(t, l, p)
			data = append(data, p)
		}
		want(t, r.Events(0), data...)
		if err := l.Sync(); err != nil || l.Durable() != l.Size() {
			t.Fatalf("durable up to %d of %d, %v", l.Durable(), l.Size(), err)
		}
	}
}

func TestSync_NothingNewIsNoFlush(t *testing.T) {
	t.Parallel()
	l := open(t, newName(t), eventlog.Options{})
	for range 3 {
		add(t, l, "one")
		before := eventlog.Flushes(l)
		for range 5 {
			must(t, l.Sync())
		}
		if n := eventlog.Flushes(l) - before; n != 1 {
			t.Errorf("%d flushes, want 1", n)
		}
	}
}

func TestAppendSync_SharesFlushes(t *testing.T) {
	t.Parallel()
	const goroutines = 16
	l := open(t, newName(t), eventlog.Options{})
	release := eventlog.HoldFlush(l)
	var g sync.WaitGroup
	for range goroutines {
		g.Go(func() {
			off, err := l.AppendSync([]byte("event"))
			if err != nil || l.Durable() < off+21 {
				t.Errorf("durable up to %d, event at %d, %v", l.Durable(), off, err)
			}
		})
	}
	waitUntil(t, "all events are visible", func() bool { return eventlog.Visible(l) == 24+goroutines*21 })
	release()
	g.Wait()
	if n := eventlog.Flushes(l); n != 1 {
		t.Errorf("%d flushes, want 1", n)
	}
}

func TestFlushPolicy_DoesNotBlockAppends(t *testing.T) {
	t.Parallel()
	l := open(t, newName(t), eventlog.Options{Flush: mmapfile.FlushPolicy{Bytes: 100}})
	release := eventlog.HoldFlush(l)
	var g sync.WaitGroup
	g.Go(func() { add(t, l, string(make([]byte, 100))) })
	waitUntil(t, "the event is visible", func() bool { return eventlog.Visible(l) == 140 })
	if l.Len() != 1 || l.Durable() != 24 { // Len takes the lock of appends
		t.Errorf("%d events, durable up to %d", l.Len(), l.Durable())
	}
	release()
	g.Wait()
	if l.Durable() != 140 {
		t.Errorf("durable up to %d", l.Durable())
	}
}

func TestFlushPolicy_Bytes(t *testing.T) {
	t.Parallel()
	l := open(t, newName(t), eventlog.Options{Flush: mmapfile.FlushPolicy{Bytes: 1000}})
	for range 200 {
		add(t, l, string(make([]byte, 83)))
		if left := l.Size() - l.Durable(); left >= 1000 {
			t.Fatalf("%d bytes are not durable", left)
		}
	}
	if n := eventlog.Flushes(l); n == 0 || n > 25 {
		t.Errorf("%d flushes of 19800 bytes", n)
	}
}

func TestFlushPolicy_Interval(t *testing.T) {
	t.Parallel()
	l := open(t, newName(t), eventlog.Options{Flush: mmapfile.FlushPolicy{Interval: time.Millisecond}})
	for range 3 {
		add(t, l, "event")
		waitUntil(t, "it is durable", func() bool { return l.Durable() == l.Size() })
	}
}

func TestFlushPolicy_IntervalOfUnreachableLog(t *testing.T) {
	name := newName(t)
	l, err := eventlog.Open(name, eventlog.Options{Flush: mmapfile.FlushPolicy{Interval: time.Millisecond}})
	must(t, err)
	w := weak.Make(l)
	l = nil
	waitUntil(t, "the log is collected", func() bool { runtime.GC(); return w.Value() == nil })
}

func TestAppendSync_TruncatedFile(t *testing.T) {
	t.Parallel()
	if keepsRoom {
		t.Skip("a mapped file cannot be truncated")
	}
	for _, left := range []int64{0, 4, 30, 45, 5000} {
		name := newName(t)
		l := open(t, name, eventlog.Options{})
		for range 100 {
			must(t, errOf(l.AppendSync(make([]byte, 100))))
		}
		must(t, os.Truncate(name, left))
		for range 3 {
			if _, err := l.AppendSync([]byte("more")); !errors.Is(err, io.ErrUnexpectedEOF) && eventlog.Maps {
				t.Errorf("truncated to %d: %v", left, err)
			}
		}
		if fi, err := os.Stat(name); err != nil || fi.Size() != left && eventlog.Maps && runtime.GOOS == "linux" {
			t.Errorf("truncated to %d: now %d bytes, %v", left, fi.Size(), err)
		}
		if err := l.Close(); !errors.Is(err, io.ErrUnexpectedEOF) && eventlog.Maps {
			t.Errorf("truncated to %d: Close: %v", left, err)
		}
	}
}

func TestAppendSync_ManyGoroutinesAndClose(t *testing.T) {
	t.Parallel()
	for range 5 {
		name := newName(t)
		l := open(t, name, eventlog.Options{Grow: 4096})
		var g sync.WaitGroup
		acked := make([]int, 8)
		for i := range acked {
			g.Go(func() {
				for {
					_, err := l.AppendSync([]byte{byte(i)})
					if errors.Is(err, os.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					acked[i]++
				}
			})
		}
		waitUntil(t, "some events are durable", func() bool { return l.Durable() > 24+17*50 })
		wantError(t, l.Close(), nil, "Close")
		g.Wait()
		got := make([]int, len(acked))
		for e, err := range openReader(t, name).Events(0) {
			must(t, err)
			got[e.Data[0]]++
		}
		for i := range acked { // an append may end, and its flush come after Close
			if got[i] < acked[i] || got[i] > acked[i]+1 {
				t.Errorf("goroutine %d: %d events, %d returned", i, got[i], acked[i])
			}
		}
	}
}
