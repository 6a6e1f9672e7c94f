package eventlog_test

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// The tests of ReadStats are not parallel: the figures are those of the process.
func TestReadStats_Log(t *testing.T) {
	name := newName(t)
	before := readStats()
	l := open(t, name, eventlog.Options{})
	const n = 1000
	for range n {
		add(t, l, "data")
	}
	if eventlog.Maps {
		if got := readStats().Appends - before.Appends; got < n-63 || got > n {
			t.Errorf("%d appends of an open log, want %d in groups of 64", got, n)
		}
	}
	for range 3 {
		must(t, errOf(l.AppendSync([]byte("data"))))
	}
	must(t, errOf(l.AppendBatch([]byte("data"), []byte("data"))))
	must(t, l.Close())
	s := readStats()
	if got := s.Appends - before.Appends; got != n+5 {
		t.Errorf("%d appends, want %d", got, n+5)
	}
	if got := s.Bytes - before.Bytes; got != (n+5)*20 {
		t.Errorf("%d bytes, want %d", got, (n+5)*20)
	}
	took := func(before, after time.Duration) bool {
		return after > before || after == before && runtime.GOOS == "windows" // whose clock may stand still for 15 ms
	}
	if s.Flushes-before.Flushes < 4 || !took(before.FlushTime, s.FlushTime) {
		t.Errorf("%d flushes in %v, want 3 and that of Close", s.Flushes-before.Flushes, s.FlushTime-before.FlushTime)
	}
	if s.Stalls == before.Stalls || !took(before.StallTime, s.StallTime) {
		t.Errorf("%d stalls in %v for a file that had to grow", s.Stalls-before.Stalls, s.StallTime-before.StallTime)
	}
	if s.Recoveries != before.Recoveries || s.TruncatedBytes != before.TruncatedBytes {
		t.Errorf("recoveries of a new log: %+v", s)
	}

	// What was there before is not appended again, and a log that was closed needs no recovery.
	l = open(t, name, eventlog.Options{Now: func() time.Time { return time.Unix(1, 0) }})
	add(t, l, "more")
	l.Close()
	again := readStats()
	if again.Appends-s.Appends != 1 || again.Bytes-s.Bytes != 20 || again.Recoveries != s.Recoveries {
		t.Errorf("opened again: %+v after %+v", again, s)
	}
}

func TestReadStats_Recovery(t *testing.T) {
	b, _ := logOf(t, "one", "two")
	name := newName(t)
	put(t, name, append(bytes.Clone(b), 0, 0)) // not truncated, and so not closed
	before := readStats()
	open(t, name, eventlog.Options{}).Close()
	s := readStats()
	if s.Recoveries-before.Recoveries != 1 || s.TruncatedBytes != before.TruncatedBytes {
		t.Errorf("not closed: %+v after %+v", s, before)
	}
	must(t, os.Truncate(name, int64(len(b)-markSize-1)))
	must(t, os.Truncate(name, 4096)) // the length before it was closed
	open(t, name, eventlog.Options{}).Close()
	if torn := readStats(); torn.Recoveries-s.Recoveries != 1 || torn.TruncatedBytes-s.TruncatedBytes != 19 {
		t.Errorf("torn: %+v after %+v", torn, s)
	}
}

func TestReadStats_Stream(t *testing.T) {
	dir := newDir(t)
	before := readStats()
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 300)
	size := s.Size()
	must(t, s.Close())
	files := len(segments(t, dir))
	after := readStats()
	if after.Appends-before.Appends != 300 || after.Bytes-before.Bytes != uint64(size-24*int64(files)) {
		t.Errorf("%d events in %d bytes, want 300 in %d and %d headers", after.Appends-before.Appends, after.Bytes-before.Bytes, size, files)
	}
	if after.Stalls-before.Stalls < uint64(files-1) {
		t.Errorf("%d stalls, and %d segments", after.Stalls-before.Stalls, files)
	}
}

func readStats() (s eventlog.Stats) {
	eventlog.ReadStats(&s)
	return s
}
