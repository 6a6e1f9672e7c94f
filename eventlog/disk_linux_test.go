package eventlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestAppend_FullDisk(t *testing.T) {
	dir := filetest.Tmpfs(t, "4m")
	name, ballast := filepath.Join(dir, "log"), filepath.Join(dir, "ballast")
	put(t, ballast, make([]byte, 2<<20))
	l := open(t, name, eventlog.Options{})
	r := openReader(t, name)
	p := make([]byte, 10_000)
	fill := func() (n int) {
		for ; ; n++ {
			if _, err := l.Append(p); errors.Is(err, syscall.ENOSPC) {
				return n
			} else if err != nil || n > 1000 {
				t.Fatal(err)
			}
		}
	}
	n := fill()
	if n < (2<<20-100_000)/10_016 {
		t.Errorf("only %d events fit", n)
	}
	for range 3 {
		wantError(t, errOf(l.AppendBatch(p, p)), syscall.ENOSPC, "a batch")
		if all, err := collect(r.Events(0)); len(all) != n || err != nil {
			t.Errorf("%d events of %d, %v", len(all), n, err)
		}
		// It has no mark, as one that was closed has, and no more events.
		if b := get(t, name); int64(len(b)) < l.Size() || len(bytes.Trim(b[l.Size():], "\x00")) > 0 || b[8] != byte(n) || b[9] != byte(n>>8) {
			t.Errorf("%d bytes of %d are used, EventCount is %x, want %x", l.Size(), len(b), b[8:16], n)
		}
	}
	must(t, os.Remove(ballast))
	n += fill()
	if all, err := collect(r.Events(0)); len(all) != n || err != nil || n < 300 {
		t.Errorf("%d events of %d, %v", len(all), n, err)
	}
	wantError(t, l.Close(), nil, "Close")
	if l = open(t, name, eventlog.Options{}); l.Len() != int64(n) || l.Recovery().TruncatedBytes != 0 {
		t.Errorf("%d events of %d, %+v", l.Len(), n, l.Recovery())
	}
}
