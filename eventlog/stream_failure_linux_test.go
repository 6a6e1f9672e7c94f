package eventlog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/simdisk"
)

// Meta may have reached the file although its flush failed. Events that are appended after
// that would be removed by the next OpenStream.
func TestStream_FailedFlushOfMeta(t *testing.T) {
	for name, truncate := range map[string]func(s *eventlog.Stream) error{
		"back": func(s *eventlog.Stream) error { return s.TruncateBack(15) },
		"skip": func(s *eventlog.Stream) error { return s.TruncateFront(30) },
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 20)
		restore := eventlog.FailMeta(s, math.MaxInt)
		err := truncate(s)
		restore()
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", name, err)
		}
		seq, err := s.AppendSync([]byte("durable"))
		s.Close()
		if err == nil {
			s = openStream(t, dir, eventlog.StreamOptions{})
			if e, err := s.Get(seq); err != nil || string(e.Data) != "durable" {
				t.Errorf("%s: a durable event: %q, %v", name, e.Data, err)
			}
		}
	}
}

// A segment that cannot begin after a truncation is an error of every append, and Close still works.
func TestStream_CloseAfterTruncation(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 20)
	inTheWay := filepath.Join(dir, fmt.Sprintf("%020d.log", 15))
	must(t, os.Mkdir(inTheWay, 0o777))
	must(t, s.TruncateBack(15))
	if _, err := s.AppendSync(nil); err == nil {
		t.Error("AppendSync: no error")
	}
	s.Close()
	wantError(t, s.Close(), os.ErrClosed, "second Close")
	os.Remove(inTheWay)
	s = openStream(t, dir, eventlog.StreamOptions{})
	if s.Next() != 15 {
		t.Errorf("next is %d, want 15", s.Next())
	}
}

// A segment that cannot be opened for lack of descriptors can be later.
func TestStream_NoDescriptors(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		s := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 10_000})
		if prepared {
			must(t, errOf(s.AppendSync(make([]byte, 100))))
		}
		for range 2 {
			must(t, errOf(s.Append(make([]byte, 4500))))
			must(t, errOf(s.Append(nil)))
		}
		eventlog.WaitJobs(s)
		var old syscall.Rlimit
		must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
		few := old
		few.Cur = 3
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
		_, err := s.Append(make([]byte, 4500))
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("without descriptors: %v", err)
		}
		if _, err := s.AppendSync(make([]byte, 4500)); err != nil {
			t.Errorf("with descriptors again (prepared %v): %v", prepared, err)
		}
		closeStream(t, s)
	}
}

// A pipe with the name of a segment does not block.
func TestStream_PipeAsSegment(t *testing.T) {
	t.Parallel()
	for _, first := range []int64{0, 3, 1000} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 3)
		closeStream(t, s)
		name := filepath.Join(dir, fmt.Sprintf("%020d.log", first))
		os.Remove(name)
		must(t, syscall.Mkfifo(name, 0o666))
		filetest.Within(t, func() {
			if s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); err == nil {
				t.Error("OpenStream: no error for ", first)
				s.Close()
			}
		})
		filetest.Within(t, func() {
			r, err := eventlog.OpenStreamReader(dir)
			if err != nil {
				return
			}
			defer r.Close()
			collect(r.Events(0))
			r.Get(0)
			r.Get(first)
			r.Next()
			collect(r.Since(time.Now()))
		})
	}
}

// A pipe or a device in place of the other files does not block, and is refused.
func TestStream_PipeAsMeta(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"meta", "lock"} {
		for what, replace := range map[string]func(name string) error{
			"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o666) },
			"device": func(name string) error { return os.Symlink("/dev/zero", name) },
		} {
			dir := newDir(t)
			s := openStream(t, dir, eventlog.StreamOptions{})
			pushN(t, s, 3)
			closeStream(t, s)
			os.Remove(filepath.Join(dir, name))
			must(t, replace(filepath.Join(dir, name)))
			filetest.Within(t, func() {
				if s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("OpenStream, %s is a %s: %v", name, what, err)
					if err == nil {
						s.Close()
					}
				}
			})
			filetest.Within(t, func() {
				r, err := eventlog.OpenStreamReader(dir)
				if name == "meta" != errors.Is(err, errors.ErrUnsupported) { // a reader needs no lock
					t.Errorf("OpenStreamReader, %s is a %s: %v", name, what, err)
				}
				if err == nil {
					r.Close()
				}
			})
		}
	}
}

// An append that fails for another reason than a full disk leaves the file of the next segment.
func TestStream_FailedAppendKeepsSpare(t *testing.T) {
	t.Parallel()
	if !eventlog.Maps {
		t.Skip("an append does not ask whether the file was truncated")
	}
	for what, appendTo := range map[string]func(s *eventlog.Stream) error{
		"Append": func(s *eventlog.Stream) error { _, err := s.AppendSync(make([]byte, 100)); return err },
		"AppendBatch": func(s *eventlog.Stream) error {
			_, err := s.AppendBatch(make([]byte, 9000), make([]byte, 9000))
			return err
		},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 50_000})
		for _, size := range []int{100, 26_000, 100} {
			must(t, errOf(s.AppendSync(make([]byte, size))))
		}
		eventlog.WaitJobs(s)
		spare := filepath.Join(dir, "next.tmp")
		must(t, errOf(os.Stat(spare)))
		must(t, os.Truncate(segments(t, dir)[0], 24))
		if err := appendTo(s); err == nil {
			t.Errorf("%s to a file that was truncated: no error", what)
		}
		if _, err := os.Stat(spare); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Get finds an event however many segments were created since the last look.
func TestStreamReader_GetManySegmentsLater(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, r := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 400}), openStreamReader(t, dir)
	pushN(t, s, 1)
	must(t, errOf(r.Get(0)))
	pushN(t, s, 2000)
	if e, err := r.Get(2000); err != nil || string(e.Data) != nth(2000) {
		t.Errorf("Get: %q, %v (of %d segments)", e.Data, err, len(segments(t, dir)))
	}
	wantError(t, errOf(r.Get(2001)), fs.ErrNotExist, "Get of the next")
}

// OpenStream that fails leaves no lock.
func TestOpenStream_FailedRetention(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	pushN(t, s, 500)
	closeStream(t, s)
	now, failed := time.Now().Add(2*time.Hour), false
	o := eventlog.StreamOptions{RetainAge: time.Hour}
	o.Now = func() time.Time {
		if failed {
			panic("no time")
		}
		failed = true
		return now
	}
	func() {
		defer func() { recover() }()
		eventlog.OpenStream(dir, o)
	}()
	o.Now = nil
	s = openStream(t, dir, o)
	closeStream(t, s)
}

// The name of a segment that may not be durable is an error of the events in it. No segment begins
// after one that is not durable: a crash leaves two that may be torn.
func TestStream_FailedFlushOfDirectory(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	pushN(t, s, 10)
	must(t, s.Sync())
	eventlog.FailDir(s)
	pushN(t, s, 100)
	failed := error(nil)
	for n := 0; n < 1000 && failed == nil; n++ {
		_, failed = s.Append([]byte(nth(s.Next())))
	}
	if n := len(segments(t, dir)); failed == nil || n != 2 {
		t.Errorf("%d segments, %v", n, failed)
	}
	if _, err := s.AppendSync(nil); err == nil {
		t.Error("AppendSync in a new segment: no error")
	}
	if d := s.Durable(); d > 100 {
		t.Errorf("durable up to %d", d)
	}
	if s.Close() == nil {
		t.Error("Close: no error")
	}
}

// A flush of the directory that fails once does not mean that the system has no such flush.
func TestOpenStream_FailedFlushOfDirectory(t *testing.T) {
	dir := newDir(t) // which is there: OpenStream flushes the one above, and dir
	for _, good := range []int{0, 1} {
		n := -good
		restore := eventlog.FailSyncDir(&n)
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		restore()
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("after %d flushes: %v, want EIO", good, err)
		}
	}
	n := 1
	restore := eventlog.FailSyncDir(&n)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 400})
	n = 1
	for range 50 {
		must(t, errOf(s.AppendSync(make([]byte, 100))))
	}
	closeStream(t, s)
	restore()
	if want := len(segments(t, dir)) - 1; n-1 != want || want < 10 {
		t.Errorf("%d flushes of the directory, want %d", n-1, want)
	}
}

// A new log whose name may not be durable is an error of Open, which creates it again then.
func TestOpen_FailedFlushOfDirectory(t *testing.T) {
	name, n := newName(t), 0
	restore := eventlog.FailSyncDir(&n)
	defer restore()
	if _, err := eventlog.Open(name, eventlog.Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v, want EIO", err)
	}
	l := open(t, name, eventlog.Options{})
	add(t, l, "event")
	if err := l.Close(); err != nil || n != 2 {
		t.Errorf("%v, %d flushes of the directory, want 2", err, n)
	}
}

// If the process ends before the flush of the directory, the file is still empty, so that the
// next Open flushes the directory.
func TestOpen_FlushesDirectoryFirst(t *testing.T) {
	name, flushes := newName(t), 0
	restore := eventlog.OnSyncDir(func(string) error {
		flushes++
		if fi, err := os.Stat(name); err != nil || fi.Size() > 0 {
			t.Errorf("during the flush: %v, %v, want an empty file", fi, err)
		}
		return nil
	})
	defer restore()
	l := open(t, name, eventlog.Options{})
	if err := l.Close(); err != nil || flushes != 1 {
		t.Errorf("%v, %d flushes of the directory, want 1", err, flushes)
	}
}

// After a flush has failed, the next OpenStream flushes every directory whose name may not be
// durable.
func TestOpenStream_FailedFlushOfDirectoriesAbove(t *testing.T) {
	base := newDir(t)
	dir := filepath.Join(base, "a", "b", "c")
	want := []string{base, filepath.Join(base, "a"), filepath.Join(base, "a", "b")}
	for bad := range want {
		n, durable := 0, []string{}
		restore := eventlog.FailSyncDir(&n)
		n = -bad
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		restore()
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("after %d flushes: %v, want EIO", bad, err)
		}
		restore = eventlog.OnSyncDir(func(name string) error { durable = append(durable, name); return nil })
		closeStream(t, openStream(t, dir, eventlog.StreamOptions{}))
		restore()
		for _, d := range want[max(bad-1, 0):] { // those before were flushed by the first call
			if !slices.Contains(durable, d) {
				t.Errorf("after %d flushes: not flushed: %s; flushed: %v", bad, d, durable)
			}
		}
		must(t, os.RemoveAll(filepath.Join(base, "a")))
	}
}

// A TruncateBack that cannot remove a file leaves no file open.
func TestTruncateBack_LeavesNoFileOpen(t *testing.T) {
	w := newWorld(t)
	p := w.Start()
	p.Do(func() {
		s := openSimulated(t)
		pushN(t, s, 400)
		must(t, errOf(collect(s.Events(0)))) // has them open
		must(t, s.Roll())
		w.Trace = func(op, name string) {
			if op == "remove" {
				w.Fails[simdisk.FailName] = 256
			}
		}
		if s.TruncateBack(0) == nil {
			t.Error("TruncateBack: no error")
		}
		w.Trace = nil
		clear(w.Fails)
		s.Close()
	})
	if _, files := p.Left(); files > 0 {
		t.Errorf("%d files are open after Close", files)
	}
}
