package eventlog_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"go.dw1.io/mmapfile/eventlog"
)

// exclude opens the named file so that no other handle of it can be opened until release.
func exclude(t *testing.T, name string) (release func()) {
	t.Helper()
	p, err := windows.UTF16PtrFromString(name)
	must(t, err)
	h, err := windows.CreateFile(p, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
	must(t, err)
	return func() { windows.CloseHandle(h) }
}

// A writer that renames a segment excludes readers for a moment.
func TestStreamReader_ExcludedForMoment(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 3)
	closeStream(t, s)
	name := segments(t, dir)[0]

	r := openStreamReader(t, dir)
	release := exclude(t, name)
	time.AfterFunc(5*time.Millisecond, release)
	if e, err := r.Get(1); err != nil || string(e.Data) != nth(1) {
		t.Errorf("Get: %q, %v", e.Data, err)
	}
	must(t, r.Close())

	release = exclude(t, name)
	time.AfterFunc(5*time.Millisecond, release)
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
	if err != nil {
		t.Fatalf("OpenStream: %v", err)
	}
	closeStream(t, s)
}

// A program that keeps others out is an error, soon.
func TestOpenReader_Excluded(t *testing.T) {
	t.Parallel()
	name := newName(t)
	must(t, open(t, name, eventlog.Options{}).Close())
	defer exclude(t, name)()
	began := time.Now()
	if _, err := eventlog.OpenReader(name); !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
