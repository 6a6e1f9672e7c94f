package eventlog_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// A loop of the writer's own process gets each event, over borders of segments.
func TestStream_Follow(t *testing.T) {
	t.Parallel()
	s := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 500})
	pushN(t, s, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seq, last := int64(5), error(nil)
	for e, err := range s.Follow(ctx, seq) {
		if last = err; err != nil {
			break
		}
		if e.Seq != seq || string(e.Data) != nth(seq) {
			t.Fatalf("event %d %q, want %d", e.Seq, e.Data, seq)
		}
		if seq++; seq == 100 {
			cancel()
		} else if seq == s.Next() {
			pushN(t, s, 7)
		}
	}
	if seq != 100 || !errors.Is(last, context.Canceled) {
		t.Errorf("the loop ends at %d, %v", seq, last)
	}
}

func TestStream_FollowEnds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		end  func(s *eventlog.Stream) error
		want error
	}{
		"Close":         {func(s *eventlog.Stream) error { return s.Close() }, os.ErrClosed},
		"TruncateBack":  {func(s *eventlog.Stream) error { return s.TruncateBack(5) }, eventlog.ErrTruncated},
		"TruncateFront": {func(s *eventlog.Stream) error { return s.TruncateFront(20) }, eventlog.ErrTruncated},
	} {
		if what == "TruncateBack" && runtime.GOOS == "windows" {
			continue // it fails while the loop has the segment open
		}
		s := openStream(t, newDir(t), eventlog.StreamOptions{SegmentSize: 500})
		pushN(t, s, 10)
		last := error(nil)
		for e, err := range s.Follow(t.Context(), 0) {
			if last = err; err == nil && e.Seq == 9 {
				last = c.end(s)
			}
			if last != nil && err == nil {
				t.Fatalf("%s: %v", what, last)
			}
		}
		if !errors.Is(last, c.want) {
			t.Errorf("%s: %v", what, last)
		}
	}
}

func TestStream_AppendBatchSync(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 500})
	for first := int64(0); first < 60; first += 3 {
		got, err := s.AppendBatchSync([]byte(nth(first)), []byte(nth(first+1)), []byte(nth(first+2)))
		if got != first || err != nil {
			t.Fatalf("first %d, %v, want %d", got, err, first)
		}
		if durable := s.Durable(); durable != first+3 {
			t.Fatalf("durable up to %d, want %d", durable, first+3)
		}
	}
	push(t, s, nth(60))
	if got, err := s.AppendBatchSync(); got != 61 || err != nil || s.Durable() != 61 {
		t.Errorf("without events: %d, %v, durable up to %d", got, err, s.Durable())
	}
	wantNth(t, s.Events(0), 0, 61)
	closeStream(t, s)
	if got, err := s.AppendBatchSync([]byte("x")); got != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %d, %v", got, err)
	}
}
