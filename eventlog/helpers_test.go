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
)

// small says that the tests do less: wasm and emulators take their time.
func small() bool {
	return testing.Short() || runtime.GOARCH == "wasm" || os.Getenv("MMAPFILE_EMULATOR") != ""
}

// newName is the name of a log that is not there yet.
func newName(t testing.TB) string {
	t.Helper()
	// Not t.TempDir, which complains on Windows of what a File not yet collected maps.
	dir, err := os.MkdirTemp("", "eventlog")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "log")
}

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
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, l)
	return l
}

func openReader(t testing.TB, name string) *eventlog.Reader {
	t.Helper()
	r, err := eventlog.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, r)
	return r
}

func add(t testing.TB, l *eventlog.Log, data ...string) (offs []int64) {
	t.Helper()
	for _, s := range data {
		off, err := l.Append([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
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

func get(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put makes b the content of the file, in place: Windows lets a mapped file grow, but not be truncated.
func put(t testing.TB, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if fi.Size() > int64(len(b)) {
		if err := f.Truncate(int64(len(b))); err != nil {
			t.Fatal(err)
		}
	}
}

// ticks is a clock that goes a second each time.
func ticks() func() time.Time {
	i := int64(0)
	return func() time.Time { i++; return time.Unix(1_700_000_000+i, i) }
}

// logOf makes a closed log of data and returns its bytes, with the offsets of the events.
func logOf(t testing.TB, data ...string) (b []byte, offs []int64) {
	t.Helper()
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: ticks()})
	offs = add(t, l, data...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return get(t, name), offs
}

func same(t testing.TB, name string, before []byte) {
	t.Helper()
	if !bytes.Equal(get(t, name), before) {
		t.Fatal("the file has changed")
	}
}
