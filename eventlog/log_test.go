package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
)

func TestAppend_ReadBack(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	r := openReader(t, name)
	data := []string{"one", "", strings.Repeat("x", 5000), strings.Repeat("y", 3<<20), "end"}
	offs := add(t, l, data...)
	for _, events := range []func(int64) iter.Seq2[eventlog.Event, error]{l.Events, r.Events} {
		want(t, events(0), data...)
		for i, off := range offs {
			want(t, events(off), data[i:]...)
		}
		want(t, events(l.Size()))
		for _, from := range []int64{-1, 1, 23, l.Size() + 1, math.MaxInt64, math.MinInt64} {
			if _, err := collect(events(from)); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("from %d: %v", from, err)
			}
		}
	}
	all, err := collect(l.Events(0))
	for i, e := range all {
		if err != nil || e.Offset != offs[i] || i > 0 && e.Offset != all[i-1].Next() {
			t.Errorf("event %d is at %d, %v; Append said %d", i, e.Offset, err, offs)
		}
	}
	if l.Len() != 5 || l.Size() != offs[4]+16+3 || l.Size() != all[4].Next() {
		t.Errorf("%d events, %d bytes", l.Len(), l.Size())
	}
	must(t, l.Close())
	if fi, err := os.Stat(name); err != nil || fi.Size() != l.Size()+markSize && !keepsRoom {
		t.Errorf("%d bytes after Close, %v, want %d", fi.Size(), err, l.Size()+markSize)
	}
	want(t, r.Events(0), data...)
	l = open(t, name, eventlog.Options{})
	if got := l.Recovery(); got != (eventlog.Recovery{Events: 5, Offset: l.Size()}) {
		t.Errorf("%+v", got)
	}
	add(t, l, "more")
	want(t, r.Events(0), append(data, "more")...)
}

func TestAppendBatch_Order(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: ticks()})
	off, err := l.AppendBatch()
	if off != 24 || err != nil || l.Len() != 0 {
		t.Errorf("an empty batch: %d, %v", off, err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Size() != 24 {
		t.Errorf("an empty batch: the file has %d bytes, %v", fi.Size(), err)
	}
	off, err = l.AppendBatch([]byte("a"), nil, []byte("ccc"))
	if off != 24 || err != nil || l.Len() != 3 {
		t.Errorf("%d, %v", off, err)
	}
	want(t, l.Events(0), "a", "", "ccc")
}

func TestAppend_NowEndsGoroutine(t *testing.T) {
	t.Parallel()
	ends := false
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: func() time.Time {
		if ends {
			goexit()
		}
		return time.Now()
	}})
	ends = true
	for _, call := range []func(){
		func() { l.Append([]byte("garbage")) },
		func() { l.AppendBatch([]byte("garbage")) },
		func() { l.AppendSync([]byte("garbage")) },
	} {
		var g sync.WaitGroup
		g.Go(call)
		g.Wait()
	}
	ends = false
	if b := get(t, name)[24:]; len(bytes.Trim(b, "\x00")) != 0 || l.Len() != 0 {
		t.Errorf("%d events, and %d bytes that are not all zeros", l.Len(), len(b))
	}
	add(t, l, "after")
	want(t, l.Events(0), "after")
}

func TestAppend_TimeOutOfRange(t *testing.T) {
	t.Parallel()
	var now time.Time
	l := open(t, newName(t), eventlog.Options{Now: func() time.Time { return now }})
	for _, year := range []int{-5000, 1, 1600, 2300, 9999} {
		now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		add(t, l, "")
		all, err := collect(l.Events(l.Size() - 16))
		wanted := int64(math.MinInt64)
		if year > 2000 {
			wanted = math.MaxInt64
		}
		if err != nil || all[0].Time.UnixNano() != wanted {
			t.Errorf("%d: %v, %v", year, all, err)
		}
	}
}

func TestAppend_MaxSize(t *testing.T) {
	t.Parallel()
	for _, max := range []int64{1, 24, 100, 4096, 5000, 1 << 20} {
		name := newName(t)
		l := open(t, name, eventlog.Options{MaxSize: max})
		n := 0
		for ; ; n++ {
			if _, err := l.Append(make([]byte, 20)); errors.Is(err, eventlog.ErrFull) {
				break
			} else if err != nil || n > 1<<20 {
				t.Fatal(err)
			}
		}
		if left := max - l.Size(); left >= 36 {
			t.Errorf("%d bytes are left of %d", left, max)
		} else if left >= 16 {
			wantError(t, errOf(l.Append(make([]byte, left-16))), nil, "what fits exactly")
		}
		wantError(t, errOf(l.AppendBatch(make([]byte, 10), make([]byte, 10))), eventlog.ErrFull, "a batch")
		if fi, err := os.Stat(name); err != nil || fi.Size() > max && max > 24 {
			t.Errorf("the file has %d bytes of %d, %v", fi.Size(), max, err)
		}
		if all, err := collect(l.Events(0)); int64(len(all)) != l.Len() || err != nil {
			t.Errorf("%d events of %d, %v", len(all), l.Len(), err)
		}
		wantError(t, l.Close(), nil, "Close")
		if l = open(t, name, eventlog.Options{}); l.Recovery().TruncatedBytes != 0 {
			t.Errorf("%+v", l.Recovery())
		}
		add(t, l, "more")
	}
}

func TestOpen_Locked(t *testing.T) {
	t.Parallel()
	if !locks {
		t.Skip("no locks on this platform")
	}
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	for range 2 {
		wantError(t, errOf(eventlog.Open(name, eventlog.Options{})), eventlog.ErrLocked, "the second")
	}
	wantError(t, errOf(eventlog.Repair(name)), eventlog.ErrLocked, "Repair")
	must(t, l.Close())
	open(t, name, eventlog.Options{})
}

func TestSince_Times(t *testing.T) {
	t.Parallel()
	name := newName(t)
	times := []int64{100, 200, 150, 300, 300} // the clock is set back once
	i := -1
	l := open(t, name, eventlog.Options{Now: func() time.Time { i++; return time.Unix(0, times[max(i-1, 0)]) }})
	add(t, l, "100", "200", "150", "300", "300")
	r := openReader(t, name)
	want(t, r.Since(time.Time{}), "100", "200", "150", "300", "300")
	want(t, r.Since(time.Unix(0, 100)), "100", "200", "150", "300", "300")
	want(t, l.Since(time.Unix(0, 151)), "200", "300", "300")
	want(t, r.Since(time.Unix(0, 300)), "300", "300")
	want(t, r.Since(time.Unix(0, 301)))
	want(t, r.Since(time.Unix(1<<60, 0)))
	all, err := collect(r.Events(0))
	if err != nil || all[1].Time.UnixNano() != 200 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAppend_SystemClock(t *testing.T) {
	t.Parallel()
	l := open(t, newName(t), eventlog.Options{})
	before := time.Now().Add(-10 * time.Millisecond)
	add(t, l, "a", "b")
	after := time.Now().Add(10 * time.Millisecond)
	for e, err := range l.Events(0) {
		if err != nil || e.Time.Before(before) || e.Time.After(after) {
			t.Errorf("%v, %v; it is %v", e.Time, err, after)
		}
	}
}

func TestClose_LaterCalls(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	add(t, l, "a")
	r := openReader(t, name)
	must(t, errors.Join(l.Close(), r.Close()))
	_, err1 := l.Append(nil)
	_, err2 := l.AppendBatch(nil)
	_, err3 := l.AppendSync(nil)
	_, err4 := collect(l.Events(0))
	_, err5 := collect(r.Since(time.Now()))
	_, err6 := collect(r.Follow(context.Background(), 0))
	for i, err := range []error{err1, err2, err3, err4, err5, err6, l.Close(), r.Close(), l.Sync()} {
		var pe *fs.PathError
		if !errors.Is(err, os.ErrClosed) || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("%d: %v", i, err)
		}
	}
	if l.Len() != 1 || l.Size() != 41 {
		t.Errorf("%d events, %d bytes", l.Len(), l.Size())
	}
}

func TestOpen_Invalid(t *testing.T) {
	t.Parallel()
	name := newName(t)
	if _, err := eventlog.OpenReader(name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := eventlog.Repair(name); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, o := range []eventlog.Options{{Grow: -1}, {MaxSize: -1}, {Flush: mmapfile.FlushPolicy{Bytes: -1}}, {Flush: mmapfile.FlushPolicy{Interval: -1}}} {
		if _, err := eventlog.Open(name, o); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	dir := filepath.Dir(newName(t))
	_, err := eventlog.Open(dir, eventlog.Options{})
	_, rerr := eventlog.OpenReader(dir)
	if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(rerr, errors.ErrUnsupported) {
		t.Errorf("a directory: %v, %v", err, rerr)
	}
}

func TestAppend_Grow(t *testing.T) {
	t.Parallel()
	for _, grow := range []int64{1, 4096, 10_000, 3 << 20, math.MaxInt64} {
		if grow > 1<<40 && small() {
			continue
		}
		name := newName(t)
		l := open(t, name, eventlog.Options{Grow: grow, MaxSize: 8 << 20})
		var data []string
		for i := range 300 {
			data = append(data, strings.Repeat("z", i*7))
		}
		add(t, l, data...)
		want(t, l.Events(0), data...)
		wantError(t, l.Close(), nil, "Close")
		l = open(t, name, eventlog.Options{Grow: grow})
		want(t, l.Events(0), data...)
	}
}

func TestAppend_Allocations(t *testing.T) {
	l := open(t, newName(t), eventlog.Options{})
	p := make([]byte, 100)
	add(t, l, strings.Repeat("x", 100_000))
	if n := testing.AllocsPerRun(1000, func() {
		l.Append(p)
		l.AppendBatch(p, p)
	}); n != 0 && eventlog.Maps && !race {
		t.Errorf("%v allocations", n)
	}
}
