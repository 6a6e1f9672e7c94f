package eventlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// equalLog is a closed log of n events of 64 bytes each, entries included.
func equalLog(t testing.TB, n int) (b []byte, data []string) {
	t.Helper()
	for i := range n {
		data = append(data, strings.Repeat(string(rune('0'+i%64)), 48))
	}
	b, _ = logOf(t, data...)
	return b, data
}

func setWriteOffset(b []byte, end int64) { binary.LittleEndian.PutUint64(b, uint64(end)) }

func TestRepair_WriteOffsetInsideEvent(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 10_000} {
		b, data := equalLog(t, 100)
		b = append(b, make([]byte, room)...)
		setWriteOffset(b, 24+64*50+10)
		name := newName(t)
		put(t, name, b)
		_, err := eventlog.Open(name, eventlog.Options{})
		wantCorrupt(t, err, 0)
		same(t, name, b)
		rec, err := eventlog.Repair(name)
		if err != nil || rec.Events != 100 || rec.SavedAs == "" {
			t.Errorf("%+v, %v", rec, err)
		} else if !bytes.Equal(get(t, rec.SavedAs), b) {
			t.Error("not all of the file was kept")
		}
		want(t, open(t, name, eventlog.Options{}).Events(0), data...)
	}
}

func TestOpen_FlippedWriteOffset(t *testing.T) {
	t.Parallel()
	clean, data := equalLog(t, 100)
	for bit := range 64 {
		if small() && bit > 15 {
			break
		}
		b := bytes.Clone(clean)
		b[bit/8] ^= 1 << (bit % 8)
		if got, refused := opensTo(t, b, data); got != len(data) {
			t.Errorf("bit %d: %d events, %v", bit, got, refused)
		}
	}
}

func TestOpen_EventsAfterWriteOffset(t *testing.T) {
	t.Parallel()
	clean, data := equalLog(t, 10)
	for _, bad := range []bool{false, true} {
		b := bytes.Clone(clean)
		setWriteOffset(b, 24+64*7)
		wanted := 10
		if bad {
			b[len(b)-markSize-1] ^= 1
			wanted = 7
		}
		if got, refused := opensTo(t, b, data); got != wanted || refused != nil {
			t.Errorf("%d events, want %d, %v", got, wanted, refused)
		}
	}
}

func TestOpen_ZeroPageBeforeEvents(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	zeros := string(make([]byte, 9000))
	for range 20 {
		add(t, l, zeros)
	}
	must(t, l.Sync())
	b, end := get(t, name), l.Size()
	const third = 24 + 9016*3
	b[third+2] ^= 1
	damaged := newName(t)
	put(t, damaged, b)
	l = open(t, damaged, eventlog.Options{})
	rec := l.Recovery()
	if rec != (eventlog.Recovery{Events: 3, Offset: third, TruncatedBytes: end - third, SavedAs: damaged + ".cut-27072", TruncatedEvents: 17}) {
		t.Errorf("%+v", rec)
	} else if !bytes.Equal(get(t, rec.SavedAs), b[third:end]) {
		t.Error("something else was kept")
	}
	want(t, l.Events(0), zeros, zeros, zeros)
}

func TestOpen_CrashAtMaxSize(t *testing.T) {
	t.Parallel()
	const n = 300
	name := newName(t)
	l := open(t, name, eventlog.Options{MaxSize: 24 + 64*n})
	var data []string
	for i := range n {
		data = append(data, strings.Repeat(string(rune('0'+i%64)), 48))
	}
	must(t, l.Sync())
	add(t, l, data[:n-1]...)
	before := get(t, name)
	add(t, l, data[n-1])
	// The last append has synced what was before it, and its own event.
	now := get(t, name)
	if int64(len(now)) != l.Size() {
		t.Fatalf("%d bytes, want %d", len(now), l.Size())
	}
	if got, refused := opensTo(t, now, data); got != n || refused != nil {
		t.Errorf("%d events, %v", got, refused)
	}
	// Before it, any page may be old.
	clear(before[4096:8192])
	if got, refused := opensTo(t, before, data); got != 63 || refused != nil {
		t.Errorf("%d events, %v", got, refused)
	}
	if off, err := l.AppendBatch(); off != l.Size() || err != nil {
		t.Errorf("a batch of nothing: %d, %v", off, err)
	}
}

func TestAppend_FileLongerThanMaxSize(t *testing.T) {
	t.Parallel()
	if keepsRoom {
		t.Skip("a file that is mapped cannot be resized")
	}
	for _, max := range []int64{50, 100, 4000} {
		name := newName(t)
		l := open(t, name, eventlog.Options{MaxSize: max})
		add(t, l, "0123456789")
		must(t, os.Truncate(name, 8192))
		eventlog.Attach(l, 8192) // as if a reader had kept it from being truncated
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			_, err = l.Append(nil)
		}
		if !errors.Is(err, eventlog.ErrFull) || l.Size() > max {
			t.Errorf("%d bytes of %d, %v", l.Size(), max, err)
		}
	}
}

func TestSync_TruncatedFile(t *testing.T) {
	t.Parallel()
	if keepsRoom {
		t.Skip("a mapped file cannot be truncated")
	}
	for _, left := range []int64{0, 4, 30, 45} {
		name := newName(t)
		l := open(t, name, eventlog.Options{})
		add(t, l, "one", "two")
		must(t, l.Sync())
		add(t, l, "three") // else there is nothing to flush
		must(t, os.Truncate(name, left))
		if err := l.Sync(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("truncated to %d: Sync: %v", left, err)
		}
		if err := l.Close(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("truncated to %d: Close: %v", left, err)
		}
	}
}

func TestAppend_TruncatedFile(t *testing.T) {
	t.Parallel()
	if keepsRoom {
		t.Skip("a mapped file cannot be truncated")
	}
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	p := strings.Repeat("x", 1000)
	for l.Size()+2*1016 < 64<<10 {
		add(t, l, p)
	}
	must(t, os.Truncate(name, 4096))
	var err error
	for n := 0; err == nil && n < 200 && eventlog.Maps; n++ { // without a mapping each write makes it longer
		_, err = l.Append([]byte(p))
	}
	if fi, serr := os.Stat(name); serr != nil || eventlog.Maps && (!errors.Is(err, io.ErrUnexpectedEOF) || fi.Size() != 4096) {
		t.Errorf("%d bytes, %v, %v", fi.Size(), err, serr)
	}
}

func TestOpen_LinkSyncsTargetDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("directories need no syncing")
	}
	name := newName(t)
	link := filepath.Join(filepath.Dir(newName(t)), "link")
	if err := os.Symlink(name, link); err != nil {
		t.Skip("no links: ", err)
	}
	l := open(t, link, eventlog.Options{})
	add(t, l, "one")
	want(t, openReader(t, name).Events(0), "one")
	if got, wanted := eventlog.DirOf(link), eventlog.DirOf(name); got != wanted {
		t.Errorf("%s, want %s", got, wanted)
	}
}

func TestOpen_Hole(t *testing.T) {
	t.Parallel()
	size := int64(1 << 40)
	if small() {
		size = 1 << 31
	}
	name := newName(t)
	put(t, name, header(uint64(size-7), 1))
	if err := os.Truncate(name, size); err != nil {
		t.Skip("no sparse files: ", err)
	}
	defer os.Truncate(name, 0)
	began := time.Now()
	r := openReader(t, name)
	if _, err := collect(r.Since(time.Now())); err == nil {
		t.Error("Since found no damage")
	}
	wantError(t, r.Close(), nil, "Close")
	if race { // which makes the search of Open take half a minute
		return
	}
	l, err := eventlog.Open(name, eventlog.Options{Verify: eventlog.VerifyNone})
	if err == nil {
		l.Close()
	}
	// With a valid event after the first page of zeros a copy is saved, which has the holes.
	b, _ := logOf(t, "one", "two")
	b = append(append(header(uint64(size-7), 1), make([]byte, 8192)...), b[24:]...)
	put(t, name, b)
	must(t, os.Truncate(name, size))
	if runtime.GOOS == "linux" {
		rec, err := eventlog.Repair(name)
		if fi, serr := os.Stat(rec.SavedAs); err != nil || serr != nil || fi.Size() != size-7-24 {
			t.Errorf("%+v, %v, %v", rec, err, serr)
		}
	} else { // holes are not known, so it is too much
		_, err = eventlog.Open(name, eventlog.Options{})
		wantCorrupt(t, err, 24)
	}
	if d := time.Since(began); d > time.Minute { // a search at each byte takes far longer
		t.Errorf("it took %v", d)
	}
}

func TestSince_ManyOlder(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: ticks()})
	ps := make([][]byte, 10_000) // more than are looked at in one go
	must(t, errOf(l.AppendBatch(ps...)))
	r := openReader(t, name)
	n := 0
	for range r.Since(time.Unix(1_700_000_003, 0)) {
		n++
	}
	if n != 0 { // they have the time of the batch
		t.Errorf("%d events", n)
	}
	add(t, l, "late", "later")
	want(t, r.Since(time.Unix(1_700_000_003, 0)), "late", "later")
}
