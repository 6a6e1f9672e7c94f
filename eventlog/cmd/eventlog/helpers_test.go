package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

// must ends the test with an error, if there is one.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDir(t testing.TB) string { return filetest.Dir(t) }

// ticks is a clock that goes a second each time.
func ticks() func() time.Time {
	i := int64(0)
	return func() time.Time { i++; return time.Unix(1_700_000_000+i, 0) }
}

// newLog makes a closed log of data, and returns its name.
func newLog(t testing.TB, data ...string) string {
	t.Helper()
	name := filepath.Join(newDir(t), "a.log")
	l, err := eventlog.Open(name, eventlog.Options{Now: ticks()})
	must(t, err)
	push(t, l, data...)
	must(t, l.Close())
	return name
}

// newStream makes a closed stream of data, with two events of up to ten bytes in each segment.
func newStream(t testing.TB, data ...string) string {
	t.Helper()
	dir := newDir(t)
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{SegmentSize: 80, Options: eventlog.Options{Now: ticks()}})
	must(t, err)
	push(t, s, data...)
	must(t, s.Close())
	return dir
}

// target is a Log or a Stream.
type target interface {
	Append(p []byte) (int64, error)
	Close() error
}

func push(t testing.TB, to target, data ...string) {
	t.Helper()
	for _, d := range data {
		if _, err := to.Append([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
}

// markSize is the length of the mark at the end of a closed log.
const markSize = 20

// damageAt changes a byte of a file, or one at -off from the end of the events if off is negative.
func damageAt(t testing.TB, name string, off int) {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	if off < 0 {
		off += len(b) - markSize
	}
	b[off] ^= 0x20
	must(t, os.WriteFile(name, b, 0o600))
}

// files returns the names and contents of the files in the directory of name, or in name.
func files(t testing.TB, name string) map[string]string {
	t.Helper()
	if fi, err := os.Stat(name); err != nil {
		t.Fatal(err)
	} else if !fi.IsDir() {
		name = filepath.Dir(name)
	}
	entries, err := os.ReadDir(name)
	must(t, err)
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(name, e.Name()))
		must(t, err)
		all[e.Name()] = string(b)
	}
	return all
}

// call runs the program, and returns its exit code and output. The directory is PATH there.
func call(t testing.TB, path string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), append(args, path), &out, &errs)
	return code, clean(out.String(), path), clean(errs.String(), path)
}

// clean makes an output the same on all systems.
func clean(s, path string) string {
	s = strings.ReplaceAll(s, strings.ReplaceAll(path, `\`, `\\`), "PATH") // in JSON
	s = strings.ReplaceAll(s, `\\`+"0", "/0")                              // in JSON
	return strings.ReplaceAll(strings.ReplaceAll(s, path, "PATH"), `\`+"0", "/0")
}

// want runs the program, and checks its exit code and output.
func want(t testing.TB, code int, stdout, path string, args ...string) {
	t.Helper()
	got, out, errs := call(t, path, args...)
	if got != code || out != stdout || errs != "" {
		t.Errorf("%q: exit code %d, want %d\n%s\nwant\n%s\nstderr: %s", args, got, code, out, stdout, errs)
	}
}
