package eventlog_test

import (
	"errors"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
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
		restore := eventlog.FailMeta(s)
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
