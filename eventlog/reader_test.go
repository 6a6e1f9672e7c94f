package eventlog_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

func TestReader_End(t *testing.T) {
	t.Parallel()
	name := newName(t)
	put(t, name, nil)
	r := openReader(t, name)
	wantEnd := func(want int64) {
		t.Helper()
		if end, err := r.End(); end != want || err != nil {
			t.Errorf("End: %d, %v, want %d", end, err, want)
		}
	}
	wantEnd(24) // its writer is creating it
	l := open(t, name, eventlog.Options{})
	wantEnd(24)
	for _, data := range []string{"one", "", "three"} {
		add(t, l, data)
		wantEnd(l.Size())
	}
	end, _ := r.End()
	add(t, l, "later")
	want(t, r.Events(end), "later")
	must(t, r.Close())
	if end, err := r.End(); end != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %d, %v", end, err)
	}
}

func TestReader_EndOfNoLog(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"no", "\x17\x00\x00\x00\x00\x00\x00\x00 and more than a header", "\xff\xff\xff\xff\xff\xff\xff\xff and more than a header"} {
		name := newName(t)
		put(t, name, []byte(b))
		end, err := openReader(t, name).End()
		pe := (*fs.PathError)(nil)
		if end != 0 || !errors.As(err, &pe) || pe.Op != "read" {
			t.Errorf("%q: %d, %v", b, end, err)
		}
		if ce := (*eventlog.CorruptError)(nil); len(b) > 8 && !errors.As(err, &ce) {
			t.Errorf("%q: %v", b, err)
		}
	}
}
