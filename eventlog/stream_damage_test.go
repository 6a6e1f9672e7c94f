package eventlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
		if err := damage(dir, segments(t, dir)); err != nil {
			t.Fatal(err)
		}
		_, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
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

// A segment in the middle that is missing, or has another number of events, is found by its
// readers.
func TestStream_DamagedInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 100)
	closeStream(t, s)
	if err := os.Remove(segments(t, dir)[3]); err != nil {
		t.Fatal(err)
	}
	s = openStream(t, dir, eventlog.StreamOptions{})
	all, err := collect(s.Events(0))
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) || len(all) < 30 {
		t.Errorf("%d events, %v", len(all), err)
	}
	_, err = s.Get(int64(len(all)))
	if ce := (*eventlog.CorruptError)(nil); !errors.As(err, &ce) {
		t.Errorf("Get: %v", err)
	}
}
