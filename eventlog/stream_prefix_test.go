package eventlog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// damagedStream makes a closed stream of three segments with up to 77 events each, and damages
// event 27 of segment k. It returns the number of that event and its offset.
func damagedStream(t *testing.T, k int, damage func(b []byte, off int) []byte) (dir string, seq, off, next int64) {
	t.Helper()
	dir = newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 24 + 77*(16+40) + 40})
	for range 3 * 77 {
		push(t, s, fmt.Sprintf("%-40s", fmt.Sprint("event ", s.Next())))
	}
	next = s.Next()
	closeStream(t, s)
	names := segments(t, dir)
	if len(names) != 3 {
		t.Fatalf("%d segments", len(names))
	}
	seq, off = eventlog.FirstOf(names[k])+27, 24+27*56
	put(t, names[k], damage(get(t, names[k]), int(off)))
	return dir, seq, off, next
}

// Whatever byte of an event is damaged: all events before it can be read in every way, and the
// error names the event and its offset.
func TestStream_DamageHidesNoEventBefore(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	flip := func(at int, bit byte) func([]byte, int) []byte {
		return func(b []byte, off int) []byte { b[off+at] ^= bit; return b }
	}
	for what, damage := range map[string]func(b []byte, off int) []byte{
		"time":           flip(3, 1),
		"size, less":     flip(8, 32),
		"size, more":     flip(8, 64),
		"size, too much": flip(10, 1),
		"size, negative": flip(11, 128),
		"size, as if two were one": func(b []byte, off int) []byte {
			binary.LittleEndian.PutUint32(b[off+8:], 40+16+40)
			return b
		},
		"checksum":  flip(12, 1),
		"data":      flip(30, 1),
		"entry":     func(b []byte, off int) []byte { clear(b[off : off+16]); return b },
		"truncated": func(b []byte, off int) []byte { return b[:off+20] },
		"the rest":  func(b []byte, off int) []byte { clear(b[off:]); return b },
	} {
		for k := range 3 {
			dir, seq, off, next := damagedStream(t, k, damage)
			r := openStreamReader(t, dir)
			wantDamageAt(t, fmt.Sprintf("%s, segment %d, reader", what, k), seq, off, r.Get, r.Events,
				func(from int64, o ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error] {
					return r.Follow(context.Background(), from, o...)
				})
			if n, err := r.Next(); err == nil && n != next || err != nil && (k < 2 || n != seq) {
				t.Errorf("%s, segment %d: Next: %d, %v", what, k, n, err)
			}
			if k < 2 {
				s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
				if err != nil && k == 1 { // the one before the last was not closed in order
					continue
				}
				must(t, err)
				wantDamageAt(t, fmt.Sprintf("%s, segment %d, writer", what, k), seq, off, s.Get, s.Events)
				closeStream(t, s)
			}
		}
	}
}

// wantDamageAt checks that the events before number seq can be read, and that it is damaged.
func wantDamageAt(t *testing.T, what string, seq, off int64, get func(int64) (eventlog.Event, error), loops ...func(int64, ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]) {
	t.Helper()
	damaged := func(err error) bool {
		ce := (*eventlog.CorruptError)(nil)
		return errors.As(err, &ce) && ce.Offset == off && strings.Contains(err.Error(), fmt.Sprintf("event %d:", seq))
	}
	for i := range seq {
		if e, err := get(i); err != nil || e.Seq != i || strings.TrimSpace(string(e.Data)) != fmt.Sprint("event ", i) {
			t.Fatalf("%s: Get(%d): %.20q, %v", what, i, e.Data, err)
		}
	}
	if _, err := get(seq); !damaged(err) {
		t.Errorf("%s: Get(%d): %v", what, seq, err)
	}
	for _, events := range loops {
		for _, from := range []int64{0, seq - 5, seq} {
			at := from
			for e, err := range events(from) {
				if err == nil && e.Seq == at {
					at++
					continue
				}
				if at != seq || e.Seq != seq || !damaged(err) {
					t.Errorf("%s: from %d: %d, %d, %v, want %d", what, from, at, e.Seq, err, seq)
				}
				at = -1
				break
			}
			if at >= 0 {
				t.Errorf("%s: from %d: no damage", what, from)
			}
		}
	}
}

// After Repair of the file a reader that has met the damage sees what is there.
func TestStreamReader_RepairedAfterDamage(t *testing.T) {
	t.Parallel()
	dir, seq, _, _ := damagedStream(t, 2, func(b []byte, off int) []byte { b[off+10]++; return b })
	r := openStreamReader(t, dir)
	if all, err := collect(r.Events(0)); err == nil || len(all) != int(seq) {
		t.Fatalf("%d events, %v", len(all), err)
	}
	if rec, err := eventlog.Repair(segments(t, dir)[2]); err != nil || rec.Events != 27 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if all, err := collect(r.Events(0)); err != nil || len(all) != int(seq) {
		t.Errorf("%d events, %v, want %d", len(all), err, seq)
	}
	if n, err := r.Next(); n != seq || err != nil {
		t.Errorf("Next: %d, %v, want %d", n, err, seq)
	}
}
