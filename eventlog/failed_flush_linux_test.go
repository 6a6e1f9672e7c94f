package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/simdisk"
)

// kilobyte is the data of event seq, and of a log's events.
func kilobyte(seq int64) string { return fmt.Sprint(seq, strings.Repeat("x", 1000)) }

// failedStream makes a stream of which the first 100 events are durable, and whose flush of the first segment has
// failed. The disk works again. Until unpin is called, all events can be read.
func failedStream(t *testing.T, d *filetest.ThinDisk, events int64) (s *eventlog.Stream, dir string, unpin func()) {
	t.Helper()
	dir = filepath.Join(d.Dir, "stream")
	s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 600_000})
	for s.Next() < 100 {
		push(t, s, kilobyte(s.Next()))
	}
	must(t, s.Sync())
	d.Fill(0)
	for s.Next() < events {
		push(t, s, kilobyte(s.Next()))
	}
	unpin = d.Pin(filepath.Join(dir, "*.log"))
	eventlog.WaitJobs(s)
	d.Free()
	return s, dir, unpin
}

// A segment after one whose flush has failed does not count as closed, and TruncateBack changes nothing.
func TestStream_CloseAfterFailedFlush(t *testing.T) {
	for _, truncate := range []bool{false, true} {
		d := filetest.NewThinDisk(t, "ext4", "4096")
		s, dir, unpin := failedStream(t, d, 700)
		unpin()
		if truncate {
			if s.TruncateBack(650) == nil {
				t.Error("TruncateBack: no error")
			}
		}
		if s.Close() == nil {
			t.Error("Close: no error")
		}
		r := openStreamReader(t, dir)
		n := 0
		for _, err := range r.Events(0, eventlog.OnlyDurable) {
			if err != nil {
				t.Error(err)
				break
			}
			n++
		}
		if n > 100 {
			t.Errorf("OnlyDurable yields %d events, 100 are durable", n)
		}
		must(t, r.Close())
		for _, when := range []string{"at once", "after a remount"} {
			s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{SegmentSize: 600_000})
			if err != nil { // that of the flush, once
				s, err = eventlog.OpenStream(dir, eventlog.StreamOptions{SegmentSize: 600_000})
			}
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if s.Next() < 100 {
				t.Errorf("%s: %d events", when, s.Next())
			}
			for seq := range s.Next() {
				if e, err := s.Get(seq); err != nil || string(e.Data) != kilobyte(seq) {
					t.Fatalf("%s: event %d: %v", when, seq, err)
				}
			}
			closeStream(t, s)
			if when == "at once" {
				d.Remount()
			}
		}
	}
}

// Readers that have seen events which the disk does not have are told when OpenStream finds out.
func TestStreamReader_AfterFailedFlush(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	s, dir, unpin := failedStream(t, d, 700)
	r := openStreamReader(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen, ended := make(chan bool), make(chan error)
	go func() {
		defer close(ended)
		for e, err := range r.Follow(ctx, 0) {
			if err != nil {
				ended <- err
				return
			}
			if e.Seq == 699 {
				close(seen)
			}
		}
	}()
	<-seen
	for seq := range int64(700) {
		must(t, errOf(r.Get(seq)))
	}
	unpin()
	s.Close()
	o := eventlog.StreamOptions{SegmentSize: 600_000}
	s, err := eventlog.OpenStream(dir, o)
	if err != nil {
		s, err = eventlog.OpenStream(dir, o)
	}
	must(t, err)
	defer s.Close()
	next := s.Next()
	if next < 100 || next >= 700 {
		t.Fatalf("%d events are left", next)
	}
	wantError(t, <-ended, eventlog.ErrTruncated, "Follow")
	after := func(seq int64) string { return "after " + kilobyte(seq) }
	for s.Next() < 900 {
		push(t, s, after(s.Next()))
	}
	for seq := range int64(901) {
		wanted := kilobyte(seq)
		if seq >= next {
			wanted = after(seq)
		}
		e, err := r.Get(seq)
		if seq == 900 {
			wantError(t, err, fs.ErrNotExist, "Get of the next")
		} else if err != nil || string(e.Data) != wanted {
			t.Fatalf("Get(%d): %.20q, %v, want %.20q", seq, e.Data, err, wanted)
		}
	}
	for e, err := range r.Events(0, eventlog.OnlyDurable) {
		if got, gerr := s.Get(e.Seq); err != nil || gerr != nil || string(got.Data) != string(e.Data) {
			t.Fatalf("OnlyDurable: event %d: %v, %v", e.Seq, err, gerr)
		}
	}
}

// A Reader of a Log is told, too.
func TestReader_AfterFailedFlush(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	name := filepath.Join(d.Dir, "log")
	l := open(t, name, eventlog.Options{})
	for seq := range int64(100) {
		add(t, l, kilobyte(seq))
	}
	must(t, l.Sync())
	d.Fill(0)
	for seq := range int64(400) {
		add(t, l, kilobyte(seq))
	}
	unpin := d.Pin(name)
	if l.Sync() == nil {
		t.Fatal("Sync: no error")
	}
	d.Free()
	r := openReader(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen, again, ended := make(chan bool), make(chan bool), make(chan error)
	go func() {
		defer close(ended)
		n := 0
		for _, err := range r.Follow(ctx, 0) {
			if n++; err != nil {
				ended <- err
				return
			}
			if n == 500 {
				close(seen)
				<-again // the log has as many events as before
			}
		}
	}()
	<-seen
	unpin()
	l.Close()
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		l, err = eventlog.Open(name, eventlog.Options{})
	}
	must(t, err)
	if n := l.Len(); n < 100 || n >= 500 {
		t.Fatalf("%d events are left", n)
	}
	for l.Len() < 600 {
		add(t, l, "other "+kilobyte(l.Len()))
	}
	close(again)
	if err := <-ended; !errors.As(err, new(*eventlog.CorruptError)) || !errors.Is(err, eventlog.ErrTruncated) {
		t.Errorf("Follow: %v", err)
	}
	must(t, l.Close())
}

// A loop whose body runs while events are taken back, and others take their place, does not yield the others after
// events that are gone, and does not call the log damaged, although the kernel has dropped pages that a flush has
// failed to write before the loop came to them.
func TestEvents_TakenBackMeanwhile(t *testing.T) {
	for _, kind := range []string{"log", "stream"} {
		for _, loop := range []string{"Events", "Since", "Follow"} {
			for _, memory := range []bool{false, true} {
				for _, dropped := range []bool{false, true} {
					w := simdisk.New(1)
					w.MkdirDurable("simulated")
					w.NoMemory = !memory
					unmount, restore := logdisk.Mount("/simulated", w), logdisk.Simulate(w)
					what := fmt.Sprintf("%s, %s, in memory %v, dropped %v", kind, loop, memory, dropped)
					ended := w.Start().Do(func() { takenBackMeanwhile(t, w, what, kind == "log", loop, dropped) })
					if !ended || w.Failed() != "" {
						t.Errorf("%s: %s", what, w.Failed())
					}
					w.End()
					restore()
					unmount()
					w.Release()
				}
			}
		}
	}
}

func takenBackMeanwhile(t *testing.T, w *simdisk.World, what string, log bool, loop string, dropped bool) {
	const durable, lost, seen = 10, 50, 21 // in the middle of a batch
	old := func(seq int64) []byte { return []byte("old " + kilobyte(seq)) }
	m := &simulation{log1: log}
	reopen := func() simStream {
		s, err := m.open()
		if err != nil { // that of the flush, once
			s, err = m.open()
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			runtime.Goexit()
		}
		return s
	}
	s := reopen()
	push := func(p []byte) {
		if l, ok := s.(simLog); ok {
			l.Log.Append(p) // to number events takes time, in which pages are written back
		} else {
			s.Append(p)
		}
	}
	for s.Next() < durable {
		push(old(s.Next()))
	}
	must(t, s.Sync())
	w.Fails[simdisk.FailFlush], w.LoseAll = 256, true
	for s.Next() < lost {
		push(old(s.Next()))
	}
	if s.Sync() == nil {
		t.Errorf("%s: Sync: no error", what)
	}
	clear(w.Fails)
	if dropped { // from event 24 on
		name := simDir
		if !log {
			name = eventfile.SegmentName(simDir, 0)
		}
		w.Evict(name, 24<<10)
	}
	r, err := m.openReader()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	events := r.Events(0)
	switch loop {
	case "Since":
		events = r.(interface {
			Since(time.Time) iter.Seq2[eventlog.Event, error]
		}).Since(time.Time{})
	case "Follow":
		events = r.Follow(context.Background(), 0)
	}
	n, end := int64(0), error(nil)
	for e, err := range events {
		if end = err; err != nil {
			break
		}
		if string(e.Data) != string(old(n)) {
			t.Errorf("%s: event %d is %.20q", what, n, e.Data)
			return
		}
		if n++; n == seen {
			s.Close()
			s = reopen()
			for s.Next() < lost+5 {
				push([]byte("new " + kilobyte(s.Next())))
			}
		}
	}
	wantError(t, end, eventlog.ErrTruncated, what)
	must(t, r.Close())
	must(t, s.Close())
}

// An append that fills a log of MaxSize makes nothing durable that a flush has lost before.
func TestLog_MaxSizeAfterFailedFlush(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	name := filepath.Join(d.Dir, "log")
	event := int64(len(kilobyte(100)) + 16)
	o := eventlog.Options{MaxSize: 24 + 1000*event}
	l := open(t, name, o)
	at := func() string { return kilobyte(100 + l.Len()%900) }
	for range 100 {
		add(t, l, at())
	}
	must(t, l.Sync())
	d.Fill(0)
	for range 800 {
		add(t, l, at())
	}
	if l.Sync() == nil {
		t.Fatal("Sync: no error")
	}
	d.Free()
	for range 100 {
		add(t, l, at())
	}
	wantError(t, errOf(l.Append(nil)), eventlog.ErrFull, "a full log")
	if l.Durable() > 100*event+24 {
		t.Errorf("durable up to %d", l.Durable())
	}
	if l.Close() == nil {
		t.Error("Close: no error")
	}
	durable := int64(100)
	for range 2 {
		l, err := eventlog.Open(name, o)
		if err != nil { // that of the flush, once
			l, err = eventlog.Open(name, o)
		}
		must(t, err)
		if l.Len() < durable {
			t.Errorf("%d events, %d were durable", l.Len(), durable)
		}
		all, err := collect(l.Events(0))
		if durable = l.Len(); err != nil || int64(len(all)) != durable {
			t.Errorf("%d events of %d, %v", len(all), durable, err)
		}
		must(t, l.Close())
		d.Remount()
	}
}

// A crash while OpenStream removes what was not flushed leaves no stream that lacks its first segment.
func TestOpenStream_CrashAfterFailedFlush(t *testing.T) {
	for seed := uint64(1000); seed < 1400; seed++ { // one in some thousand crashes so
		w := simdisk.New(seed)
		w.MkdirDurable("simulated")
		unmount, restore := logdisk.Mount("/simulated", w), logdisk.Simulate(w)
		open := func() (*eventlog.Stream, error) {
			return eventlog.OpenStream(simDir, eventlog.StreamOptions{SegmentSize: 300})
		}
		w.Start().Do(func() {
			s, err := open()
			must(t, err)
			w.Fails[simdisk.FailFlush] = 256
			for range 3 {
				s.Append([]byte(kilobyte(s.Next())))
			}
			s.Close()
		})
		w.Crash()
		w.Fails[simdisk.FailName] = 32
		w.Start().Do(func() {
			if s, err := open(); err == nil {
				s.Close()
			}
		})
		w.Crash()
		w.Start().Do(func() {
			s, err := open()
			if err != nil || s.First() != 0 || s.Check() != nil {
				t.Errorf("world %d: %v, and the first event is %d", seed, err, s.First())
			}
		})
		w.End()
		restore()
		unmount()
		w.Release()
	}
}

// A loop is told that its events were taken back also if the writer that does so is killed, and another one ends it.
func TestOpenStream_KilledWhileTakingBack(t *testing.T) {
	for _, memory := range []bool{false, true} {
		w := simdisk.New(1)
		w.MkdirDurable("simulated")
		w.NoMemory = !memory
		unmount, restore := logdisk.Mount("/simulated", w), logdisk.Simulate(w)
		open := func() *eventlog.Stream {
			o := eventlog.StreamOptions{SegmentSize: 300}
			s, err := eventlog.OpenStream(simDir, o)
			for errors.Is(err, syscall.EIO) { // that of a flush, once
				s, err = eventlog.OpenStream(simDir, o)
			}
			must(t, err)
			return s
		}
		fill := func(s *eventlog.Stream, what string, next int64) { // a segment for each event
			for s.Next() < next {
				s.Append(fmt.Appendf(nil, "%s %300d", what, s.Next()))
			}
		}
		p := w.Start()
		p.Do(func() {
			s := open()
			fill(s, "old", 2)
			s.Sync()
			w.Fails[simdisk.FailFlush], w.LoseAll = 256, true
			fill(s, "old", 4)
			s.Sync()
		})
		p.Kill()
		clear(w.Fails)
		const (
			begun = iota
			told  // meta says that events are gone
			read  // the loop has one of them all the same
			again // others have their numbers
			ended
		)
		phase := begun
		until := func(wanted int) { w.Wait(func() bool { return phase >= wanted }, time.Time{}) }
		w.Start().Go(func() {
			defer func() { phase = ended }()
			r, err := eventlog.OpenStreamReader(simDir)
			must(t, err)
			until(told)
			for e, err := range r.Follow(context.Background(), 3) {
				if err != nil {
					wantError(t, err, eventlog.ErrTruncated, "Follow")
					break
				}
				if e.Seq > 3 {
					t.Errorf("in memory %v: after an event that was taken back there is %d, %.3s", memory, e.Seq, e.Data)
					break
				}
				phase = read
				until(again)
			}
			must(t, r.Close())
		})
		p = w.Start()
		w.Trace = func(op, name string) {
			switch {
			case phase == begun && op == "rename" && name == eventfile.SegmentName(simDir, 3):
				phase = told
				until(read)
			case phase == read && op == "sync":
				p.Stop()
			}
		}
		p.Do(func() { open() })
		w.Trace = nil
		p.Kill()
		w.Start().Do(func() {
			s := open()
			fill(s, "new", 6)
			phase = max(phase, again)
			until(ended)
			s.Close()
		})
		if w.Failed() != "" {
			t.Error(w.Failed())
		}
		w.End()
		restore()
		unmount()
		w.Release()
	}
}

// A reader that has seen two changes of meta which no flush has made durable, and that the system has forgotten, goes on
// with the next writer.
func TestOpenStream_ForgottenChanges(t *testing.T) {
	w := simdisk.New(1)
	w.MkdirDurable("simulated")
	defer logdisk.Mount("/simulated", w)()
	defer logdisk.Simulate(w)()
	defer w.Release()
	open := func() *eventlog.Stream {
		s, err := eventlog.OpenStream(simDir, eventlog.StreamOptions{})
		must(t, err)
		return s
	}
	got := int64(0)
	w.Start().Do(func() {
		s := open()
		for s.Next() < 9 {
			push(t, s, kilobyte(s.Next()))
		}
		must(t, s.Close())
	})
	p := w.Start()
	p.Do(func() {
		s := open()
		w.Fails[simdisk.FailFlush], w.LoseAll = 256, true
		if s.TruncateFront(1) == nil || s.TruncateBack(5) == nil {
			t.Error("no error of a flush that fails")
		}
		w.Start().Go(func() {
			r, err := eventlog.OpenStreamReader(simDir)
			must(t, err)
			for e, err := range r.Follow(context.Background(), 2) {
				must(t, err)
				got = e.Seq
			}
		})
		logdisk.Sleep(time.Second)
	})
	if got != 4 {
		t.Errorf("a loop is at event %d of 4", got)
	}
	p.Kill()
	clear(w.Fails)
	w.Evict(simDir+"/meta", 0)
	w.Start().Do(func() {
		open()
		logdisk.Sleep(time.Second)
	})
	if got != 8 {
		t.Errorf("a loop is at event %d of 8", got)
	}
	w.End()
}

// A loop is told that its event was taken back, although the writer that does so fails to make that durable, and the next
// one is killed or fails, too.
func TestOpenStream_TakesBackAgain(t *testing.T) {
	for _, second := range []string{"is killed after it has flushed meta", "is killed before it writes a segment", "fails to flush a segment"} {
		w := newWorld(t)
		w.LoseAll, w.NoMemory = true, true
		o := eventlog.StreamOptions{SegmentSize: 6000}
		w.Start().Do(func() {
			s := openSimulated(t)
			push(t, s, strings.Repeat("x", 5000)) // the page of the header is written again
			must(t, s.Close())
		})
		has, again, told := false, false, false
		p := w.Start()
		p.Do(func() {
			s := openSimulated(t)
			push(t, s, "old 1")
			w.Fails[simdisk.FailFlush] = 256
			if s.Sync() == nil {
				t.Error("Sync: no error")
			}
			clear(w.Fails)
			w.Start().Go(func() {
				r, err := eventlog.OpenStreamReader(simDir)
				must(t, err)
				for e, err := range r.Follow(context.Background(), 1) {
					if err != nil {
						wantError(t, err, eventlog.ErrTruncated, second)
						told = true
						break
					}
					if e.Seq > 1 {
						t.Errorf("the second %s: after an event that was taken back the loop yields %d %q", second, e.Seq, e.Data)
						break
					}
					has = true
					w.Wait(func() bool { return again }, time.Time{})
				}
			})
			w.Wait(func() bool { return has }, time.Time{})
		})
		p.Kill()
		found := false // what the disk has
		w.Trace = func(op, name string) {
			found = found || op == "sync" && strings.HasSuffix(name, ".log")
			if found && op == "write" && strings.HasSuffix(name, "meta") {
				w.Fails[simdisk.FailFlush] = 256
			}
		}
		w.Start().Do(func() {
			if errOf(eventlog.OpenStream(simDir, o)) == nil {
				t.Error("OpenStream: no error")
			}
		})
		clear(w.Fails)
		p = w.Start()
		flushed := false
		w.Trace = func(op, name string) {
			flushed = flushed || op == "sync" && strings.HasSuffix(name, "meta")
			writes := op == "write" && strings.HasSuffix(name, ".log")
			switch {
			case second == "is killed after it has flushed meta" && flushed && op != "sync", second == "is killed before it writes a segment" && writes:
				p.Stop()
			case second == "fails to flush a segment" && writes:
				w.Fails[simdisk.FailFlush] = 256
			}
		}
		p.Do(func() { eventlog.OpenStream(simDir, o) })
		p.Kill()
		w.Trace = nil
		clear(w.Fails)
		w.Start().Do(func() {
			s := openSimulated(t)
			push(t, s, "new 1", "new 2")
			again = true
			logdisk.Sleep(time.Second)
		})
		if !told {
			t.Errorf("the second %s: the loop goes on", second)
		}
	}
}
