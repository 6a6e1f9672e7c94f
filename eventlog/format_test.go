package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// The events of testdata/golden.log, whose times are those of goldenNow.
var golden = []string{"hello", "", "\x00\xff\x80 events"}

func goldenNow() func() time.Time {
	i := int64(-1)
	return func() time.Time { i++; return time.Unix(1_700_000_000, i*1_000_000_001) }
}

func goldenFile(t *testing.T) []byte {
	t.Helper()
	return get(t, filepath.Join("testdata", "golden.log"))
}

func TestFormat_WritesGoldenFile(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{Now: goldenNow()})
	add(t, l, golden...)
	must(t, l.Close())
	got := get(t, name)
	if end := len(got) - markSize; !bytes.Equal(got[:end], goldenFile(t)) || !bytes.Equal(got[end:], get(t, filepath.Join("testdata", "golden.mark"))) {
		t.Errorf("written:\n%s", hex.Dump(got))
	}
}

func TestFormat_ReadsGoldenFile(t *testing.T) {
	t.Parallel()
	want(t, openReader(t, filepath.Join("testdata", "golden.log")).Events(0), golden...)
	all, err := collect(openReader(t, filepath.Join("testdata", "golden.log")).Events(0))
	if err != nil || all[0].Time.UnixNano() != 1_700_000_001_000_000_001 || all[2].Time.UnixNano() != 1_700_000_003_000_000_003 {
		t.Errorf("%v, %v", all, err)
	}
	name := newName(t)
	put(t, name, goldenFile(t))
	l := open(t, name, eventlog.Options{})
	if got := l.Recovery(); got != (eventlog.Recovery{Events: 3, Offset: 87}) || l.Len() != 3 {
		t.Errorf("%+v", got)
	}
}

func TestFormat_ExampleIsGoldenFile(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(string(get(t, "FORMAT.md")), "\r\n", "\n")
	if dump := hex.Dump(goldenFile(t)); !strings.Contains(text, dump) {
		t.Errorf("FORMAT.md does not have\n%s", dump)
	}
}

func TestFormat_PythonReads(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	read := func(name string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "events.py"), name).Output()
		return strings.ReplaceAll(string(out), "\r\n", "\n"), err
	}
	const wanted = "24 1700000001000000001 68656c6c6f\n45 1700000002000000002 \n61 1700000003000000003 00ff80206576656e7473\n"
	if out, err := read(filepath.Join("testdata", "golden.log")); out != wanted || err != nil {
		t.Errorf("%s, %v", out, err)
	}
	// While a log is open for writing, and of one that is damaged.
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	var all strings.Builder
	for i := range 100 {
		add(t, l, strings.Repeat("x", i*100))
	}
	for e, err := range l.Events(0) {
		must(t, err)
		fmt.Fprintf(&all, "%d %d %x\n", e.Offset, e.Time.UnixNano(), e.Data)
	}
	if out, err := read(name); out != all.String() || err != nil {
		t.Errorf("%d bytes, want %d; %v", len(out), all.Len(), err)
	}
	b := goldenFile(t)
	b[len(b)-1] ^= 1
	damaged := newName(t)
	put(t, damaged, b)
	if out, err := read(damaged); !strings.HasPrefix(wanted, out) || err == nil {
		t.Errorf("%q, %v of a damaged log", out, err)
	}
	wantError(t, os.Remove(damaged), nil, "Remove")
}

func TestFormat_PythonHostileFiles(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	long := binary.LittleEndian.AppendUint32(make([]byte, 8), math.MaxUint32)
	for want, b := range map[string][]byte{
		"not a log: 10 bytes are no header": []byte("not a log!"),
		"not a log: WriteOffset is 23":      header(23, 0),
		"goes past the end":                 append(header(1<<40, 1), append(long, 1, 2, 3, 4)...),
		"no room for an event":              header(1<<40, 1),
	} {
		name := newName(t)
		put(t, name, b)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "events.py"), name).CombinedOutput()
		cancel()
		if text := string(out); err == nil || !strings.Contains(text, want) || strings.Contains(text, "Traceback") {
			t.Errorf("%v, %q, want %q", err, text, want)
		}
	}
}
