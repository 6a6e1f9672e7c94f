package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

func TestStream_ManyGoroutines(t *testing.T) {
	t.Parallel()
	rounds := 2
	if small() {
		rounds = 1
	}
	for range rounds {
		dir := newDir(t)
		s, r := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 10_000}), openStreamReader(t, dir)
		var g, followers sync.WaitGroup
		var all sync.Map
		var n atomic.Int64
		for i := range 4 {
			g.Go(func() {
				for k := 0; ; k++ {
					p := fmt.Append(nil, i, " ", k)
					var seq int64
					var err error
					switch {
					case k%3 == 0:
						seq, err = s.AppendBatch(p, p)
					case k%50 == 1:
						if seq, err = s.AppendSync(p); err == nil && s.Durable() <= seq {
							t.Errorf("AppendSync of %d: durable up to %d", seq, s.Durable())
						}
					default:
						seq, err = s.Append(p)
					}
					if errors.Is(err, os.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					all.Store(seq, string(p))
					n.Add(1)
				}
			})
			g.Go(func() {
				for seq := int64(0); ; seq++ {
					get := s.Get
					if i%2 == 0 {
						get = r.Get
					}
					e, err := get(seq)
					switch {
					case err == nil && (e.Seq != seq || len(e.Data) < 3):
						t.Errorf("Get(%d): %d %q", seq, e.Seq, e.Data)
					case errors.Is(err, os.ErrClosed):
						return
					case errors.Is(err, fs.ErrNotExist), errors.Is(err, eventlog.ErrTruncated):
						seq = max(s.First(), s.Next()-100)
					case err != nil:
						t.Error(err)
						return
					}
				}
			})
		}
		g.Go(func() {
			for {
				if err := s.TruncateFront(max(s.Next()-2000, 0)); errors.Is(err, os.ErrClosed) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched() // wasm does not preempt
			}
		})
		ctx, cancel := context.WithCancel(context.Background())
		followers.Go(func() {
			seq := int64(0)
			for {
				for e, err := range r.Follow(ctx, seq) {
					if errors.Is(err, context.Canceled) || errors.Is(err, os.ErrClosed) {
						return
					}
					if errors.Is(err, eventlog.ErrTruncated) {
						break
					}
					if err != nil || e.Seq != seq {
						t.Errorf("event %d is %d: %v", seq, e.Seq, err)
						return
					}
					seq++
				}
				seq, _ = r.First()
			}
		})
		for n.Load() < 4000 && !t.Failed() {
			for e, err := range s.Events(s.First()) {
				if err != nil && !errors.Is(err, eventlog.ErrTruncated) {
					t.Errorf("event %d: %v", e.Seq, err)
				}
			}
		}
		closeStream(t, s)
		wantError(t, r.Close(), nil, "Close")
		g.Wait()
		cancel()
		followers.Wait()
		s = openStream(t, dir, eventlog.StreamOptions{})
		found := 0
		for e, err := range s.Events(s.First()) {
			must(t, err)
			if p, ok := all.Load(e.Seq); ok {
				if found++; p != string(e.Data) {
					t.Fatalf("event %d is %q, want %q", e.Seq, e.Data, p)
				}
			}
		}
		if found < 500 {
			t.Errorf("%d events are left", found)
		}
	}
}

// A loop that TruncateBack overtakes looks at the bounds again.
func TestStreamReader_TruncatedBetween(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, r := openStream(t, dir, eventlog.StreamOptions{}), openStreamReader(t, dir)
	pushN(t, s, 20)
	inside, err := eventlog.EnterAfter(r, 20, func() {
		must(t, s.TruncateBack(10))
		if next, err := r.Next(); err != nil || next != 10 { // another goroutine
			t.Fatal(next, err)
		}
	})
	if inside || err != nil {
		t.Errorf("%v, %v, want another try", inside, err)
	}
}
