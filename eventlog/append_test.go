package eventlog_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// A nil dereference in Options.Now is not taken for a fault of the mapping.
func TestAppend_ClockThatPanics(t *testing.T) {
	t.Parallel()
	now := &time.Time{}
	o := eventlog.Options{Now: func() time.Time { return *now }}
	l, s := open(t, newName(t), o), openStream(t, newDir(t), eventlog.StreamOptions{Options: o})
	for what, call := range map[string]func() error{
		"Append":             func() error { _, err := l.Append([]byte("event")); return err },
		"AppendSync":         func() error { _, err := l.AppendSync([]byte("event")); return err },
		"AppendBatch":        func() error { _, err := l.AppendBatch([]byte("event")); return err },
		"Stream.Append":      func() error { _, err := s.Append([]byte("event")); return err },
		"Stream.AppendSync":  func() error { _, err := s.AppendSync([]byte("event")); return err },
		"Stream.AppendBatch": func() error { _, err := s.AppendBatch([]byte("event")); return err },
	} {
		events := l.Len() + s.Next()
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Errorf("%s: no panic", what)
				}
			}()
			now = nil
			err := call()
			t.Errorf("%s: %v", what, err)
		}()
		now = &time.Time{}
		if err := call(); err != nil || l.Len()+s.Next() != events+1 {
			t.Errorf("%s after the panic: %d events, was %d, %v", what, l.Len()+s.Next(), events, err)
		}
	}
}

// The checksum of an event of a stream is computed while another append has the lock: data that
// change after that, which they must not, do not match it.
func TestStreamAppend_ChecksumWithoutLock(t *testing.T) {
	t.Parallel()
	if race {
		t.Skip("the data race is the test")
	}
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	p := []byte("event")
	release := eventlog.HoldAppends(s)
	done := make(chan error)
	go func() {
		_, err := s.Append(p)
		done <- err
	}()
	waitUntil(t, "the append waits for the lock", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for g := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(g, "ChecksumWithoutLock") && strings.Contains(g, "(*Stream).append") && strings.Contains(g, "[sync.Mutex.Lock") {
				return true
			}
		}
		return false
	})
	p[0]++
	release()
	must(t, <-done)
	if _, err := s.Get(0); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("Get: %v", err)
	}
}

// A slice that changes during Append is a bug of its caller. It does not damage the log.
func TestAppend_ChangingSlice(t *testing.T) {
	t.Parallel()
	if race || !eventlog.Maps {
		t.Skip("it is a race; without memory large events are written from the slice")
	}
	l := open(t, newName(t), eventlog.Options{})
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	p := make([]byte, 60_000)
	done := make(chan struct{})
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := byte(0); ; i++ {
			select {
			case <-done:
				return
			default:
				for k := range p {
					p[k] = i
				}
			}
		}
	}()
	for range 100 {
		_, err1 := l.Append(p)
		_, err2 := l.AppendBatch(p, p)
		_, err3 := s.Append(p)
		_, err4 := s.AppendSync(p) // and the next few by system call
		must(t, errors.Join(err1, err2, err3, err4))
	}
	close(done)
	<-changed
	if all, err := collect(l.Events(0)); len(all) != 300 || err != nil {
		t.Errorf("Log: %d events, %v", len(all), err)
	}
	if all, err := collect(s.Events(0)); len(all) != 200 || err != nil {
		t.Errorf("Stream: %d events, %v", len(all), err)
	}
}
