package eventlog_test

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// No Get fills the index of the segment that is appended to, for which appends would wait.
func TestOpenStream_FillsIndex(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(b []byte) []byte{
		"closed": func(b []byte) []byte { return b },
		"torn":   func(b []byte) []byte { return b[:len(b)-3] },
		"killed": func(b []byte) []byte { // after it has stored the count
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)-16-uint64(len(nth(10))))
			return append(b, make([]byte, 100)...)
		},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 100)
		closeStream(t, s)
		name := segments(t, dir)[0]
		put(t, name, change(get(t, name)))
		s = openStream(t, dir, eventlog.StreamOptions{})
		next := s.Next()
		if n := eventlog.Indexed(s); n != next || next < 99 {
			t.Errorf("%s: the index has %d events of %d", what, n, next)
		}
		pushN(t, s, 1)
		for seq := range s.Next() {
			if e, err := s.Get(seq); err != nil || string(e.Data) != nth(seq) {
				t.Errorf("%s: Get(%d): %.20q, %v", what, seq, e.Data, err)
			}
		}
		if n := eventlog.Indexed(s); n != next+1 {
			t.Errorf("%s: after an append the index has %d events of %d", what, n, next+1)
		}
	}
}

// A loop over a stream that is not in memory reads each segment once: it makes no index, and its
// buffer keeps what the loop's body has.
func TestStreamReader_OnePass(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 3 << 20})
	rnd := rand.New(rand.NewPCG(31, 1))
	var all []string
	for range 300 {
		p := make([]byte, []int{0, 10, 1000, 65_000, 70_000, 200_000}[rnd.IntN(6)])
		for i := range p {
			p[i] = byte(rnd.Uint32())
		}
		all = append(all, string(p))
		push(t, s, string(p))
	}
	push(t, s, string(make([]byte, 2<<20)))
	all = append(all, string(make([]byte, 2<<20)))
	closeStream(t, s)
	for _, name := range segments(t, dir) {
		eventlog.DropCache(t, name)
	}
	r := openStreamReader(t, dir)
	for range 2 { // the second time it is in memory
		want(t, r.Events(0), all...)
	}
	if n := eventlog.IndexedEvents(r); n > 0 {
		t.Errorf("there are %d events in indexes", n)
	}
	if e, err := r.Get(100); err != nil || string(e.Data) != all[100] {
		t.Errorf("Get: %d bytes, %v", len(e.Data), err)
	}
}

// The indexes of segments that have ended have a bound. With fewer points, Get finds each event all the same.
func TestStream_IndexBound(t *testing.T) {
	const most = 100
	restore := eventlog.BoundIndexes(most)
	defer restore()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	check := func() {
		t.Helper()
		for seq := range s.Next() {
			wantGet(t, s, seq)
		}
		if n := eventlog.IndexPoints(s); n > most || n < most/4 {
			t.Errorf("%d points, want up to %d", n, most)
		}
	}
	pushN(t, s, 1000)
	eventlog.WaitJobs(s)
	check()
	must(t, s.TruncateBack(777)) // in a segment with few points
	check()
	pushN(t, s, 300)
	closeStream(t, s)
	s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	check()
}

// Goroutines that read segments for the first time at once leave as many points as one of them would.
func TestStream_IndexBoundOfManyReaders(t *testing.T) {
	const most, readers, events = 500, 8, 10_000
	restore := eventlog.BoundIndexes(most)
	defer restore()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
	pushN(t, s, events)
	for range 20 {
		closeStream(t, s)
		s = openStream(t, dir, eventlog.StreamOptions{SegmentSize: 4000})
		var wg sync.WaitGroup
		for i := range int64(readers) { // each of other segments
			wg.Go(func() {
				for seq := i * events / readers; seq < (i+1)*events/readers; seq += 10 {
					wantGet(t, s, seq)
				}
			})
		}
		wg.Wait()
		if n := eventlog.IndexPoints(s); n > most || n < most-20 {
			t.Errorf("%d points, want up to %d", n, most)
		}
	}
}

func wantGet(t *testing.T, s *eventlog.Stream, seq int64) {
	t.Helper()
	if e, err := s.Get(seq); err != nil || string(e.Data) != nth(seq) {
		t.Errorf("Get(%d): %.20q, %v", seq, e.Data, err)
	}
}
