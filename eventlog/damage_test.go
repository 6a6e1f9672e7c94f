package eventlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

var smallLog = []string{"one", "", strings.Repeat("two", 20), "\x00\x00\x00", "end"}

// opensTo opens the log of b, which must hold the first of data, and repairs it first if it
// cannot be opened: then it must not have changed. Nil data are any. It returns how many events there are.
func opensTo(t testing.TB, b []byte, data []string) (n int, refused *eventlog.CorruptError) {
	t.Helper()
	name := newName(t)
	put(t, name, b)
	// A reader gets a beginning of the events and an error, or all.
	r := openReader(t, name)
	all, rerr := collect(r.Events(0))
	for i, e := range all {
		if i < len(data) && string(e.Data) != data[i] {
			t.Fatalf("a reader's event %d is %q, want %q", i, e.Data, data[i])
		}
	}
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		if !errors.As(err, &refused) {
			t.Fatalf("Open: %v", err)
		}
		same(t, name, b)
		rec, err := eventlog.Repair(name)
		if err != nil {
			t.Fatalf("Repair: %v", err)
		}
		if rec.SavedAs != "" { // else there was nothing but zeros
			if kept := get(t, rec.SavedAs); !bytes.Contains(b, kept) {
				t.Fatalf("%d bytes were saved, which the file did not have", len(kept))
			}
		}
		l = open(t, name, eventlog.Options{})
	}
	all, err = collect(l.Events(0))
	if data == nil {
		for _, e := range all {
			data = append(data, string(e.Data))
		}
	}
	if err != nil || len(all) > len(data) {
		t.Fatalf("%d events of %d, %v; a reader before said %v", len(all), len(data), err, rerr)
	}
	want(t, l.Events(0), data[:len(all)]...)
	add(t, l, "more")
	want(t, l.Events(0), append(append([]string{}, data[:len(all)]...), "more")...)
	must(t, l.Close())
	must(t, r.Close())
	return len(all), refused
}

func TestOpen_EveryTruncation(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	b, offs := logOf(t, smallLog...)
	for n := range b {
		whole := 0
		for i, off := range offs {
			if off+16+int64(len(smallLog[i])) <= int64(n) {
				whole++
			}
		}
		got, refused := opensTo(t, b[:n], smallLog)
		end := len(b) - markSize
		left := n == 0 || n == 24 || n >= end || n == 24+markSize || slices.Contains(offs, int64(n)) || slices.Contains(offs, int64(n-markSize)) // by a crash
		if got != whole || (refused == nil) != left {
			t.Errorf("cut to %d bytes: %d events of %d, %v", n, got, whole, refused)
		}
	}
}

func TestOpen_EveryFlippedByte(t *testing.T) {
	t.Parallel()
	flipEveryByte(t, smallLog)
	// In this log a WriteOffset with a flipped bit is often the end of an event, too.
	equal := make([]string, 8)
	for i := range equal {
		equal[i] = strings.Repeat(string(rune('a'+i)), 16)
	}
	flipEveryByte(t, equal)
}

func flipEveryByte(t *testing.T, data []string) {
	b, offs := logOf(t, data...)
	for i := range b {
		for _, bits := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255} {
			if bits != 32 && bits != 255 && i >= 24 && bits != 1 && bits != 128 {
				continue
			}
			if small() && bits != []byte{32, 255}[i%2] {
				continue // one of them for each byte
			}
			damaged := bytes.Clone(b)
			damaged[i] ^= bits
			got, refused := opensTo(t, damaged, data)
			// The event that the byte is of; those before stay, and if it is not the last, Open refuses.
			hit := -1
			for k, off := range offs {
				if int64(i) >= off && i < len(b)-markSize {
					hit = k
				}
			}
			switch last := len(offs) - 1; {
			case hit >= 0 && got != hit:
				t.Errorf("byte %d ^ %#x: %d events, want %d", i, bits, got, hit)
			case 0 <= hit && hit < last && (refused == nil || refused.Offset != offs[hit]):
				t.Errorf("byte %d ^ %#x: refused with %v, want damage at %d", i, bits, refused, offs[hit])
			case hit == last && refused != nil:
				t.Errorf("byte %d ^ %#x: refused with %v", i, bits, refused)
			case hit < 0 && got != len(data):
				t.Errorf("byte %d ^ %#x: %d events", i, bits, got)
			}
		}
	}
}

func TestRepair_SavesTruncated(t *testing.T) {
	t.Parallel()
	b, offs := logOf(t, smallLog...)
	b[offs[2]+20] ^= 1
	name := newName(t)
	put(t, name, b)
	_, err := eventlog.Open(name, eventlog.Options{})
	wantCorrupt(t, err, offs[2])
	same(t, name, b)
	put(t, name+".cut-43", []byte("another file"))
	for i := range 2 {
		rec, err := eventlog.Repair(name)
		wanted := eventlog.Recovery{Events: 2, Offset: offs[2]}
		if i == 0 {
			wanted.TruncatedBytes, wanted.SavedAs, wanted.TruncatedEvents = int64(len(b)-markSize)-offs[2], filepath.Clean(name)+".cut-59", int64(len(smallLog)-2)
		}
		if rec != wanted || err != nil {
			t.Fatalf("%+v, %v, want %+v", rec, err, wanted)
		}
	}
	if kept := get(t, name+".cut-59"); !bytes.Equal(kept, b[offs[2]:len(b)-markSize]) {
		t.Errorf("%d bytes are kept", len(kept))
	}
	want(t, open(t, name, eventlog.Options{}).Events(0), smallLog[:2]...)
}

// damaged is a log with a header of these, and a file of size bytes.
func header(end, count uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, end)
	b = binary.LittleEndian.AppendUint64(b, count)
	return binary.LittleEndian.AppendUint64(b, uint64(time.Now().UnixNano()))
}

func TestOpen_HostileFiles(t *testing.T) {
	t.Parallel()
	size := int64(1 << 28)
	if small() {
		size = 1 << 24
	}
	fillers := map[string][]byte{
		"zeros":  make([]byte, 4<<20),
		"ones":   bytes.Repeat([]byte{0xff}, 4<<20),
		"longs":  bytes.Repeat([]byte{1, 0, 2, 0}, 1<<20), // each byte seems to begin an event of 64 KiB and more
		"text":   bytes.Repeat([]byte("all work and no play "), 200_000),
		"short":  {1, 2, 3},
		"nested": nil,
	}
	fillers["nested"], _ = logOf(t, smallLog...)
	for what, filler := range fillers {
		for _, end := range []uint64{0, 1, 23, 24, 25, 41, 1 << 20, 1 << 31, 1 << 32, 1 << 62, 1 << 63, math.MaxUint64} {
			for _, count := range []uint64{0, 1 << 63} {
				b := append(header(end, count), filler...)
				name := newName(t)
				put(t, name, b)
				began := time.Now()
				if err := os.Truncate(name, size); err != nil {
					t.Skip("no sparse files: ", err)
				}
				r := openReader(t, name)
				if all, err := collect(r.Events(0)); len(all) > 0 && what != "nested" {
					t.Errorf("%s, %d: %d events, %v", what, end, len(all), err)
				}
				r.Close()
				if l, err := eventlog.Open(name, eventlog.Options{}); err == nil {
					add(t, l, "more")
					l.Close()
				}
				os.Truncate(name, 0)
				if d := time.Since(began); d > 5*time.Second {
					t.Errorf("%s, %d: it took %v", what, end, d)
				}
			}
		}
	}
}

func TestOpen_ForeignFiles(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"x", "a text that has nothing to do with events, and is longer than a header\n", "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 100), strings.Repeat("\x00", 1000) + "x"} {
		name := newName(t)
		put(t, name, []byte(b))
		_, err := eventlog.Open(name, eventlog.Options{})
		wantCorrupt(t, err, 0)
		same(t, name, []byte(b))
	}
}

func TestLog_TruncatedWhileOpen(t *testing.T) {
	t.Parallel()
	if keepsRoom {
		t.Skip("a mapped file cannot be truncated")
	}
	for _, size := range []int64{0, 10, 30, 4096, 100_000, 1 << 20} {
		name := newName(t)
		l := open(t, name, eventlog.Options{})
		r := openReader(t, name)
		p := strings.Repeat("x", 10_000)
		for range 150 {
			add(t, l, p)
		}
		var err error
		n := 0
		func() {
			defer func() {
				if v := recover(); v != nil { // in the body of the loop
					err = io.ErrUnexpectedEOF
				}
			}()
			var e eventlog.Event
			for e, err = range r.Events(0) {
				if n++; n == 2 {
					if terr := os.Truncate(name, size); terr != nil {
						t.Fatal(terr)
					}
				}
				if err == nil {
					_ = bytes.Count(e.Data, []byte("y"))
				}
			}
		}()
		if err == nil {
			t.Errorf("cut to %d: no error after %d events", size, n)
		}
		if _, err := collect(r.Events(0)); err == nil && size > 0 {
			t.Errorf("cut to %d: no error of a new iteration", size)
		}
		for range 1000 { // which fails, or is lost in what is left of the last page
			l.Append([]byte(p))
			l.Append(make([]byte, 10_000))
		}
		l.Sync()
		l.Close()
	}
}

func FuzzOpen(f *testing.F) {
	b, _ := logOf(f, smallLog...)
	f.Add(b)
	f.Add(b[:50])
	f.Add([]byte{})
	f.Add(append(header(100, 1), make([]byte, 5000)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		name := newName(t)
		put(t, name, b)
		r := openReader(t, name)
		all, _ := collect(r.Events(0))
		collect(r.Since(time.Now()))
		for _, e := range all {
			_ = string(e.Data)
		}
		r.Close()
		opensTo(t, b, nil)
	})
}
