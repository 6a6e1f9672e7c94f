package eventlog_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// hundred is a log of 100 events, still open.
func hundred(t *testing.T) (l *eventlog.Log, name string) {
	t.Helper()
	name = newName(t)
	l = open(t, name, eventlog.Options{})
	for range 100 {
		add(t, l, "event")
	}
	return l, name
}

// stops checks that events yields two events, the second of which calls stop, and then an error.
func stops(t *testing.T, events iter.Seq2[eventlog.Event, error], stop func(), wanted error) {
	t.Helper()
	n := 0
	for e, err := range events {
		n++
		switch {
		case n <= 2 && err != nil:
			t.Fatal(err)
		case n == 2:
			stop()
		case n > 2 && (!errors.Is(err, wanted) || e.Offset != 24+2*21):
			t.Fatalf("step %d: event at %d, %v, want %v", n, e.Offset, err, wanted)
		}
	}
	if n != 3 {
		t.Errorf("%d steps", n)
	}
}

func TestEvents_NoneAfterClose(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		l, name := hundred(t)
		r := openReader(t, name)
		loop := []iter.Seq2[eventlog.Event, error]{l.Events(0), l.Since(time.Time{}), r.Events(0), r.Follow(context.Background(), 0)}[i]
		of := []io.Closer{l, l, r, r}[i]
		stops(t, loop, func() { must(t, of.Close()) }, os.ErrClosed)
	}
}

func TestFollow_NoneAfterContext(t *testing.T) {
	t.Parallel()
	_, name := hundred(t)
	ctx, cancel := context.WithCancel(context.Background())
	stops(t, openReader(t, name).Follow(ctx, 0), cancel, context.Canceled)
}

func TestOpen_ClockThatPanics(t *testing.T) {
	t.Parallel()
	name := newName(t)
	func() {
		defer func() {
			if r := recover(); r != "clock" {
				t.Errorf("recovered %v", r)
			}
		}()
		eventlog.Open(name, eventlog.Options{Now: func() time.Time { panic("clock") }})
	}()
	l := open(t, name, eventlog.Options{})
	add(t, l, "event")
	want(t, l.Events(0), "event")
}
