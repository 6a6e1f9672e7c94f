package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
)

func TestStream_OpenDamaged(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(dir string, names []string) error{
		"meta": func(dir string, _ []string) error {
			return os.WriteFile(filepath.Join(dir, "meta"), bytes.Repeat([]byte("x"), 8192), 0o600)
		},
		"a segment is missing": func(_ string, names []string) error { return os.Remove(names[len(names)-2]) },
		"a segment has a wrong name": func(_ string, names []string) error {
			return os.Rename(names[len(names)-1], names[len(names)-1][:len(names[0])-5]+"9.log")
		},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
		pushN(t, s, 100)
		closeStream(t, s)
		must(t, damage(dir, segments(t, dir)))
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "a segment is missing" && !strings.Contains(err.Error(), "events 68 to 84") {
			t.Errorf("%s: %v", what, err)
		}
		r, err := eventlog.OpenStreamReader(dir)
		if err == nil {
			_, err = collect(r.Events(0))
			r.Close()
		}
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("%s: a reader: %v", what, err)
		}
	}
}

// Meta, or a name, with a number that no stream has gives no event such a number.
func TestOpenStream_ImpossibleNumbers(t *testing.T) {
	t.Parallel()
	const largest = 3 << 61
	for what, m := range map[string]meta{
		"first":    {generation: 100, first: math.MaxInt64},
		"first+":   {generation: 100, first: largest + 1},
		"back":     {generation: 100, truncatedTo: math.MaxInt64},
		"negative": {generation: 100, first: 1 << 63},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 3)
		closeStream(t, s)
		putMeta(t, dir, m)
		_, werr := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		_, rerr := eventlog.OpenStreamReader(dir)
		for _, err := range []error{werr, rerr} {
			if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	must(t, s.TruncateFront(1<<62))
	pushN(t, s, 3)
	closeStream(t, s)
	put(t, filepath.Join(dir, fmt.Sprintf("%020d.log", int64(math.MaxInt64))), nil)
	s = openStream(t, dir, eventlog.StreamOptions{})
	if seq, err := s.Append(nil); seq != 1<<62+3 || err != nil {
		t.Errorf("event %d, %v", seq, err)
	}
	closeStream(t, s)
	// The largest number is the last one: the next OpenStream would not see events after it.
	o := eventlog.StreamOptions{SegmentSize: 100}
	putMeta(t, dir, meta{generation: 100, first: largest - 2})
	s = openStream(t, dir, o)
	for want := int64(largest - 2); want <= largest; want++ {
		if seq, err := s.Append(make([]byte, 100)); seq != want || err != nil {
			t.Errorf("event %d, %v, want %d", seq, err, want)
		}
	}
	if seq, err := s.Append(make([]byte, 100)); !errors.Is(err, eventlog.ErrFull) {
		t.Errorf("after the largest number: event %d, %v", seq, err)
	}
	if seq, err := s.AppendBatch(nil, nil); !errors.Is(err, eventlog.ErrFull) {
		t.Errorf("after the largest number: event %d, %v", seq, err)
	}
	closeStream(t, s)
	if s = openStream(t, dir, o); s.Next() != largest+1 {
		t.Errorf("next is %d", s.Next())
	}
}

// Opening takes time and memory in proportion to the number of segments. It does not run in
// parallel, since it counts bytes.
func TestOpenStream_ManySegments(t *testing.T) {
	n := int64(4000)
	if small() {
		n = 2000
	}
	dir := newDir(t)
	closeStream(t, openStream(t, dir, eventlog.StreamOptions{}))
	log, _ := logOf(t, "event")
	for seq := range n {
		put(t, filepath.Join(dir, fmt.Sprintf("%020d.log", seq)), log)
	}
	taken := func(fn func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fn()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var s *eventlog.Stream
	if bytes := taken(func() { s = openStream(t, dir, eventlog.StreamOptions{}) }); bytes > uint64(n)*3000 {
		t.Errorf("opening %d segments allocates %d bytes", n, bytes)
	}
	if s.Next() != n {
		t.Errorf("next is %d, want %d", s.Next(), n)
	}
}

// A crash may leave a segment without a header, which a reader has mapped: Windows does not
// truncate it then. What is in it does not come back.
func TestStream_BlankSegmentInUse(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 50)
	closeStream(t, s)
	old, err := os.ReadFile(segments(t, dir)[0])
	must(t, err)
	copy(old, make([]byte, 24)) // the header
	name := filepath.Join(dir, fmt.Sprintf("%020d.log", 50))
	must(t, os.WriteFile(name, old, 0o666))
	f, err := mmapfile.Open(name)
	must(t, err)
	defer f.Close()
	f.Bytes()
	s = openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 1)
	wantNth(t, s.Events(0), 0, 51)
	now, err := os.ReadFile(name)
	must(t, err)
	if end := 24 + 16 + len(nth(50)); len(now) < end || len(bytes.Trim(now[end:], "\x00")) > 0 {
		t.Errorf("%d bytes, with something after the event, which ends at %d", len(now), end)
	}
}

// forge gives the event at off in b a size of n bytes, with the checksum of that.
func forge(b []byte, off, n int) {
	binary.LittleEndian.PutUint32(b[off+8:], uint32(n))
	sum := crc32.ChecksumIEEE(b[off : off+12])
	sum = crc32.Update(sum, crc32.IEEETable, b[off+16:off+16+n])
	binary.LittleEndian.PutUint32(b[off+12:], sum)
}

// A segment that has more or fewer events than its name and the next one's say, all with valid
// checksums, gives no event by number. A loop over it reads it once, and so ends at its end.
func TestStream_ForgedSize(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	const entry = 16 // bytes before the data
	inner := make([]byte, 2*entry+10)
	forge(inner, entry, 10)
	for what, size := range map[string]func(len0, len1 int) int{
		"fewer": func(len0, len1 int) int { return len0 + entry + len1 },
		"more":  func(int, int) int { return entry },
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
		for range 50 {
			push(t, s, string(inner))
		}
		closeStream(t, s)
		var firsts []int64
		for _, name := range segments(t, dir) {
			firsts = append(firsts, eventlog.FirstOf(name))
		}
		name := segments(t, dir)[1]
		b := get(t, name)
		forge(b, 24, size(len(inner), len(inner)))
		put(t, name, b)
		s = openStream(t, dir, eventlog.StreamOptions{})
		r := openStreamReader(t, dir)
		for _, of := range []struct {
			get    func(int64) (eventlog.Event, error)
			events func(int64, ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]
		}{{s.Get, s.Events}, {r.Get, r.Events}} {
			for seq := range s.Next() {
				e, err := of.get(seq)
				if seq < firsts[1] || seq >= firsts[2] {
					if err != nil || e.Seq != seq {
						t.Errorf("%s: Get(%d): %d, %v", what, seq, e.Seq, err)
					}
				} else if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
					t.Errorf("%s: Get(%d): %v", what, seq, err)
				}
			}
			all, err := collect(of.events(0))
			if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) || len(all) < int(firsts[1]) || len(all) > int(firsts[2]) {
				t.Errorf("%s: %d events, %v, want %d to %d", what, len(all), err, firsts[1], firsts[2])
			}
		}
	}
}

// After Repair of a segment in the middle its other events are there, with their numbers.
func TestStream_RepairedInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	closeStream(t, s)
	name := segments(t, dir)[1]
	b := get(t, name)
	b[len(b)-markSize-1]++
	put(t, name, b)
	if rec, err := eventlog.Repair(name); err != nil || rec.TruncatedBytes == 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	s = openStream(t, dir, eventlog.StreamOptions{})
	all, err := collect(s.Events(0))
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) || len(all) < 20 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for seq := range s.Next() {
		e, err := s.Get(seq)
		if ce := (*eventlog.CorruptError)(nil); seq == int64(len(all)) && errors.As(err, &ce) {
			continue
		}
		if err != nil || string(e.Data) != nth(seq) {
			t.Errorf("Get(%d): %.40q, %v", seq, e.Data, err)
		}
	}
}

// TruncateBack finds its place before it removes anything, also in a segment whose index was made before
// the damage.
func TestTruncateBack_DamagedSegment(t *testing.T) {
	t.Parallel()
	dir, o := newDir(t), eventlog.StreamOptions{SegmentSize: 1000}
	s := openStream(t, dir, o)
	pushN(t, s, 100)
	closeStream(t, s)
	name := segments(t, dir)[1]
	first := eventlog.FirstOf(name)
	whole := get(t, name)
	damaged := bytes.Clone(whole)
	damaged[24+8]++ // the size of its first event
	for _, indexed := range []bool{true, false} {
		put(t, name, whole)
		s = openStream(t, dir, o)
		if indexed {
			s.Get(first + 1)
		}
		put(t, name, damaged)
		before, end := list(t, dir), s.Next()
		if err, ce := s.TruncateBack(first+1), (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("TruncateBack: %v", err)
		}
		if after := list(t, dir); !slices.Equal(before, after) || s.Next() != end {
			t.Errorf("next is %d, files %v, were %v", s.Next(), after, before)
		}
		pushN(t, s, 1)
		closeStream(t, s)
	}
	s = openStream(t, dir, o)
	next := eventlog.FirstOf(segments(t, dir)[2])
	wantNth(t, s.Events(next), next, 102)
	wantError(t, s.TruncateBack(next+1), nil, "TruncateBack")
	wantNth(t, s.Events(next), next, next+1)
}

// A StreamReader does not go on in another stream that takes the place of its own.
func TestStreamReader_ReplacedStream(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("a directory that is open cannot be renamed, or has no number")
	}
	o := eventlog.StreamOptions{SegmentSize: 1000}
	for what, replace := range map[string]func(dir, other string) error{
		"directory": func(dir, other string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.Rename(other, dir))
		},
		"files": func(dir, other string) error {
			names, err := filepath.Glob(filepath.Join(other, "*"))
			for _, name := range names {
				err = errors.Join(err, os.Rename(name, filepath.Join(dir, filepath.Base(name))))
			}
			return err
		},
	} {
		dir, other := filepath.Join(newDir(t), "a"), filepath.Join(newDir(t), "b")
		s := openStream(t, dir, o)
		pushN(t, s, 30)
		closeStream(t, s)
		last := eventlog.FirstOf(segments(t, dir)[1])
		s = openStream(t, other, o)
		must(t, s.TruncateFront(last))
		push(t, s, "other")
		must(t, s.TruncateFront(30))
		push(t, s, "other")
		closeStream(t, s)
		r := openStreamReader(t, dir)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		n, failed := int64(0), error(nil)
		for e, err := range r.Follow(ctx, 0) {
			if failed = err; err != nil {
				break
			}
			if string(e.Data) != nth(n) {
				t.Fatalf("%s: event %d is %.20q", what, n, e.Data)
			}
			if n++; n == 30 {
				must(t, replace(dir, other))
			}
		}
		if failed == nil || ctx.Err() != nil || n != 30 {
			t.Errorf("%s: after %d events: %v", what, n, failed)
		}
		if e, err := r.Get(30); err == nil {
			t.Errorf("%s: Get: %.20q", what, e.Data)
		}
	}
}

// A stream that is open for writing has its segments locked, also those that are not appended to.
func TestRepair_SegmentOfOpenStream(t *testing.T) {
	t.Parallel()
	if !locks {
		t.Skip("the system has no locks")
	}
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	eventlog.WaitJobs(s)
	name := segments(t, dir)[0]
	b := get(t, name)
	b[500]++
	put(t, name, b)
	wantError(t, errOf(eventlog.Repair(name)), eventlog.ErrLocked, "Repair while the stream is open")
	same(t, name, b)
	closeStream(t, s)
	if r, err := eventlog.Repair(name); err != nil || r.TruncatedEvents == 0 {
		t.Errorf("Repair: %+v, %v", r, err)
	}
}

// A log that was closed in order, and truncated by another program, is an error, and stays as it is.
func TestOpen_TruncatedAfterClose(t *testing.T) {
	t.Parallel()
	truncate := func(name string, size int64) (before []byte) {
		must(t, os.Truncate(name, size))
		return get(t, name)
	}
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	for i := range int64(1000) {
		must(t, errOf(l.AppendSync([]byte(nth(i)))))
	}
	must(t, l.Close())
	before := truncate(name, 300)
	_, err := eventlog.Open(name, eventlog.Options{})
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Open: %v", err)
	}
	same(t, name, before)
	if rec, err := eventlog.Repair(name); err != nil || rec.Events == 0 || rec.SavedAs == "" {
		t.Errorf("Repair: %+v, %v", rec, err)
	}
	for _, which := range []int{0, -2, -1} { // the first segment, the last but one, the last
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 5000})
		for range 1000 {
			must(t, errOf(s.Append([]byte(nth(s.Next())))))
		}
		must(t, s.Sync())
		closeStream(t, s)
		names := segments(t, dir)
		name := names[(which+len(names))%len(names)]
		before := truncate(name, 300)
		s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if which == 0 && err == nil { // it reads no segment before the last two
			err = s.Check()
			s.Close()
		}
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
			t.Errorf("segment %d: %v", which, err)
		}
		same(t, name, before)
	}
	// No crash leaves a part of a header.
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 10)
	closeStream(t, s)
	name = segments(t, dir)[0]
	for _, size := range []int64{23, 8, 1} {
		before := truncate(name, size)
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if pe := (*fs.PathError)(nil); !errors.As(err, new(*eventlog.CorruptError)) || !errors.As(err, &pe) {
			t.Errorf("a segment of %d bytes: %v", size, err)
		}
		same(t, name, before)
	}
}

// A crash leaves the length that a segment was prepared with, also if SegmentSize is another since.
func TestOpenStream_OtherSegmentSize(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 10_000})
	prepared := int64(0)
	for prepared == 0 {
		must(t, errOf(s.AppendSync(make([]byte, 1000))))
		eventlog.WaitJobs(s)
		if fi, err := os.Stat(filepath.Join(dir, "next.tmp")); err == nil {
			prepared = fi.Size()
		}
	}
	must(t, errOf(s.Append(make([]byte, 50_000)))) // longer than the prepared file
	next := s.Next()
	eventlog.WaitJobs(s)
	copied := newDir(t)
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	closeStream(t, s)
	names := segments(t, copied)
	must(t, os.Truncate(names[len(names)-1], prepared))
	s = openStream(t, copied, eventlog.StreamOptions{SegmentSize: 20_000})
	if s.Next() != next-1 {
		t.Errorf("%d events, want %d", s.Next(), next-1)
	}
	closeStream(t, s)
}
