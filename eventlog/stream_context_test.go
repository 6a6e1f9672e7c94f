package eventlog_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A call with a context waits neither for a truncation nor for a flush when that is done, and Durable for nothing.
func TestStream_ContextsEnd(t *testing.T) {
	t.Parallel()
	for what, hold := range map[string]func(s *eventlog.Stream) (release func()){
		"appends": eventlog.HoldAppends, // as a truncation, or the begin of a segment that waits for a flush
		"flush":   func(s *eventlog.Stream) func() { return eventlog.HoldFlush(eventlog.ActiveLog(s)) },
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		must(t, errOf(s.AppendSync([]byte("durable"))))
		must(t, errOf(s.Append([]byte("visible"))))
		release := hold(s)
		filetest.Within(t, func() {
			if d := s.Durable(); d != 1 {
				t.Errorf("%s: durable up to %d", what, d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			wantError(t, s.WaitDurable(ctx, 1), context.DeadlineExceeded, what+": WaitDurable")
			if err := s.WaitDurable(t.Context(), 0); err != nil {
				t.Errorf("%s: WaitDurable of what is durable: %v", what, err)
			}
			n := 0
			following, end := context.WithCancel(t.Context())
			defer end()
			for _, err := range s.Follow(following, 0, eventlog.OnlyDurable) {
				if err != nil {
					wantError(t, err, context.Canceled, what+": Follow")
					break
				}
				n++
				time.AfterFunc(10*time.Millisecond, end) // while it waits for the next one, however long the first one took
			}
			if n != 1 {
				t.Errorf("%s: Follow yields %d events", what, n)
			}
			ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			to := filepath.Join(newDir(t), "copy")
			wantError(t, s.Copy(ctx, to, nil), context.DeadlineExceeded, what+": Copy")
		})
		release()
		closeStream(t, s)
	}
}

// A directory that a killed copy has left is not taken for the copy.
func TestStream_CopyBesideStale(t *testing.T) {
	t.Parallel()
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	pushN(t, s, 3)
	to := filepath.Join(newDir(t), "copy")
	must(t, s.Copy(t.Context(), to+".tmp", nil))
	err := s.Copy(t.Context(), to, nil)
	if err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("beside what a kill has left: %v", err)
	}
	wantError(t, s.Copy(t.Context(), to+".tmp", nil), fs.ErrExist, "of what is there")
}
