package eventlog_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"weak"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

// skipOnWindows skips a test of many files that says nothing of a platform: the format is the same on all. Under wine it
// takes half a minute.
func skipOnWindows(t *testing.T) {
	t.Helper()
	if testing.Short() && runtime.GOOS == "windows" {
		t.Skip("it takes long under wine, and is the same on all platforms")
	}
}

// small says that the tests do less: wasm and emulators take their time.
func small() bool {
	return testing.Short() || runtime.GOARCH == "wasm" || os.Getenv("MMAPFILE_EMULATOR") != ""
}

// must ends the test with an error, if there is one.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf is the error of a call that returns something else, too.
func errOf[T any](_ T, err error) error { return err }

// newName is the name of a log that is not there yet.
func newName(t testing.TB) string { return filepath.Join(filetest.Dir(t), "log") }

// closeLater closes p at the end of the test if it is still in use. Otherwise a test that
// opens thousands would keep the addresses of all of them, which 32 bits do not have.
func closeLater[T any, P interface {
	*T
	io.Closer
}](t testing.TB, p P) {
	w := weak.Make((*T)(p))
	t.Cleanup(func() {
		if p := w.Value(); p != nil {
			P(p).Close()
		}
	})
}

func open(t testing.TB, name string, o eventlog.Options) *eventlog.Log {
	t.Helper()
	l, err := eventlog.Open(name, o)
	must(t, err)
	closeLater(t, l)
	return l
}

func openReader(t testing.TB, name string) *eventlog.Reader {
	t.Helper()
	r, err := eventlog.OpenReader(name)
	must(t, err)
	closeLater(t, r)
	return r
}

func add(t testing.TB, l *eventlog.Log, data ...string) (offs []int64) {
	t.Helper()
	for _, s := range data {
		off, err := l.Append([]byte(s))
		must(t, err)
		offs = append(offs, off)
	}
	return offs
}

// collect returns what is yielded, up to an error, with copies of the data: the memory
// of those goes when the caller has the log or reader no more.
func collect(events iter.Seq2[eventlog.Event, error]) (all []eventlog.Event, err error) {
	for e, err := range events {
		if err != nil {
			return all, err
		}
		e.Data = bytes.Clone(e.Data)
		all = append(all, e)
	}
	return all, nil
}

// want checks that events are those with these data.
func want(t testing.TB, events iter.Seq2[eventlog.Event, error], data ...string) {
	t.Helper()
	n := 0
	for e, err := range events {
		if err != nil {
			t.Fatalf("after %d events: %v", n, err)
		}
		if n < len(data) && (string(e.Data) != data[n] || cap(e.Data) != len(e.Data)) {
			t.Fatalf("event %d has %d bytes of data, capacity %d, want %d", n, len(e.Data), cap(e.Data), len(data[n]))
		}
		n++
	}
	if n != len(data) {
		t.Fatalf("%d events, want %d", n, len(data))
	}
}

func wantCorrupt(t testing.TB, err error, off int64) {
	t.Helper()
	var ce *eventlog.CorruptError
	if !errors.As(err, &ce) || ce.Offset != off {
		t.Fatalf("error %v, want that of damage at %d", err, off)
	}
}

// wantError checks an error, and says of what.
func wantError(t testing.TB, err, target error, what string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v, want %v", what, err, target)
	}
}

func get(t testing.TB, name string) []byte { return filetest.Read(t, name) }

// put makes b the content of the file, in place: Windows lets a mapped file grow, but not be truncated.
func put(t testing.TB, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	must(t, errOf(f.WriteAt(b, 0)))
	fi, err := f.Stat()
	must(t, err)
	if fi.Size() > int64(len(b)) {
		must(t, f.Truncate(int64(len(b))))
	}
}

// ticks is a clock that goes a second each time.
func ticks() func() time.Time {
	i := int64(0)
	return func() time.Time { i++; return time.Unix(1_700_000_000+i, i) }
}

// markSize is the length of the mark at the end of a closed log.
const markSize = 20

// logOf makes a closed log of data and returns its bytes, with the offsets of the events.
func logOf(t testing.TB, data ...string) (b []byte, offs []int64) {
	t.Helper()
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: ticks()})
	offs = add(t, l, data...)
	must(t, l.Close())
	return get(t, name), offs
}

func same(t testing.TB, name string, before []byte) {
	t.Helper()
	if !bytes.Equal(get(t, name), before) {
		t.Fatal("the file has changed")
	}
}
