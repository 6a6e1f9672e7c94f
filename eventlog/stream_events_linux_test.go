package eventlog_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/simdisk"
)

// newWorld returns a machine with a simulated disk, which has the directory of simDir.
func newWorld(t *testing.T) *simdisk.World {
	w := simdisk.New(1)
	w.MkdirDurable("simulated")
	unmount, restore := logdisk.Mount("/simulated", w), logdisk.Simulate(w)
	t.Cleanup(func() {
		if w.Failed() != "" {
			t.Error(w.Failed())
		}
		w.End()
		restore()
		unmount()
		w.Release()
	})
	return w
}

// openSimulated opens the stream in simDir, again after the error of a flush, which is reported once.
func openSimulated(t *testing.T) *eventlog.Stream {
	o := eventlog.StreamOptions{SegmentSize: 6000}
	s, err := eventlog.OpenStream(simDir, o)
	for range 3 {
		if err != nil {
			s, err = eventlog.OpenStream(simDir, o)
		}
	}
	must(t, err)
	return s
}

// A loop ends if another directory takes the place of its own after a truncation.
func TestEvents_ReplacedDirectory(t *testing.T) {
	for _, follows := range []bool{false, true} {
		w := newWorld(t)
		last, ended := error(nil), false
		w.Start().Do(func() {
			s := openSimulated(t)
			pushN(t, s, 300)
			must(t, s.Copy(context.Background(), otherDir, nil))
			r, err := eventlog.OpenStreamReader(simDir)
			must(t, err)
			events := r.Events(0)
			if follows {
				events = r.Follow(context.Background(), 0)
			}
			for e, err := range events {
				if last = err; err == nil && e.Seq == 0 {
					must(t, s.TruncateBack(250))
					must(t, logdisk.Rename(simDir, movedDir))
					must(t, logdisk.Rename(otherDir, simDir))
				}
			}
			ended = true
		})
		if !ended || !wasReplaced(last) {
			t.Errorf("follows %v: the loop has ended %v, %v", follows, ended, last)
		}
	}
}

// A loop that begins while TruncateBack runs, with an event that is being removed, does not go back to others.
func TestFollow_DuringTruncateBack(t *testing.T) {
	for _, writer := range []bool{false, true} {
		w := newWorld(t)
		truncating, ended := false, false
		w.Start().Do(func() {
			s := openSimulated(t)
			pushN(t, s, 10)
			must(t, s.Sync())
			events := s.Follow(context.Background(), 6)
			if !writer {
				r, err := eventlog.OpenStreamReader(simDir)
				must(t, err)
				events = r.Follow(context.Background(), 6)
			}
			w.Go(func() {
				w.Wait(func() bool { return truncating }, time.Time{})
				for e, err := range events {
					ended = true
					if wantError(t, err, eventlog.ErrTruncated, "Follow"); err == nil {
						t.Errorf("writer %v: a loop from event 6 on yields event %d", writer, e.Seq)
						break
					}
				}
			})
			w.Trace = func(op, name string) {
				if op == "sync" && strings.HasSuffix(name, ".log") { // meta says that they are being removed
					w.Trace, truncating = nil, true
					logdisk.Sleep(time.Second)
				}
			}
			must(t, s.TruncateBack(4))
			pushN(t, s, 4)
			logdisk.Sleep(time.Second)
		})
		if !ended {
			t.Errorf("writer %v: the loop has no error", writer)
		}
	}
}

// A loop that has the file of a segment without events gets those of the next writer, although a TruncateFront past
// the end has failed meanwhile.
func TestFollow_AfterFailedSkip(t *testing.T) {
	w := newWorld(t)
	got := 0
	w.Start().Do(func() {
		must(t, logdisk.Mkdir(simDir, 0o777))
		f, err := logdisk.OpenFile(eventfile.SegmentName(simDir, 0), os.O_RDWR|os.O_CREATE, 0o666) // of a writer that was killed
		must(t, err)
		must(t, f.Close())
		s := openSimulated(t)
		r, err := eventlog.OpenStreamReader(simDir)
		must(t, err)
		w.Go(func() {
			for _, err := range r.Follow(context.Background(), 0) {
				must(t, err)
				got++
			}
		})
		logdisk.Sleep(time.Second)
		w.Fails[simdisk.FailFlush], w.LoseAll = 256, true
		if s.TruncateFront(1) == nil {
			t.Error("TruncateFront: no error")
		}
		clear(w.Fails)
		s.Close()
		s = openSimulated(t)
		push(t, s, "an event")
		logdisk.Sleep(time.Second)
	})
	if got != 1 {
		t.Errorf("the loop has %d events", got)
	}
}
