package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// pythonBeside has Python print what name has, and calls meanwhile when it has begun. Python waits for its output to be
// read, and has not read event notRead yet, if each has 100 bytes.
func pythonBeside(t *testing.T, name string, meanwhile func()) (stdout, stderr string, err error) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, filepath.Join("testdata", "events.py"), name)
	errs := new(strings.Builder)
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	begin := make([]byte, 1)
	must(t, errOf(io.ReadFull(out, begin)))
	meanwhile()
	rest, err := io.ReadAll(out)
	must(t, err)
	err = cmd.Wait()
	return strings.ReplaceAll(string(begin)+string(rest), "\r\n", "\n"), errs.String(), err
}

const notRead = 2000

// ofHundred returns the data of n events of 100 bytes.
func ofHundred(letter string, n int) []string {
	return slices.Repeat([]string{strings.Repeat(letter, 100)}, n)
}

// Events that a writer takes back while Python reads are an error, and no later ones are printed in their place.
func TestFormat_PythonTakenBack(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 1, 2 * notRead} {
		t.Run(fmt.Sprint(later), func(t *testing.T) {
			t.Parallel()
			live, name := newName(t), newName(t)
			l := open(t, live, eventlog.Options{})
			offs := add(t, l, ofHundred("x", 2*notRead)...)
			var all strings.Builder
			for e, err := range l.Events(0) {
				must(t, err)
				fmt.Fprintf(&all, "%d %d %x\n", e.Offset, e.Time.UnixNano(), e.Data)
			}
			b := get(t, live)
			put(t, name, b) // as a kill leaves it
			out, text, err := pythonBeside(t, name, func() {
				clear(b[offs[notRead]:])
				put(t, name, b) // as a crash does
				l := open(t, name, eventlog.Options{})
				if got := l.Recovery(); got.Events != notRead {
					t.Errorf("%+v", got)
				}
				add(t, l, ofHundred("y", later)...)
			})
			if err == nil || !strings.Contains(text, "a writer has taken back events") || !strings.HasPrefix(all.String(), out) {
				t.Errorf("%v, %q after %d bytes of %d", err, text, len(out), all.Len())
			}
		})
	}
}

// So it is in a stream, where meta tells.
func TestFormat_PythonTruncated(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(s *eventlog.Stream) error{
		"": func(s *eventlog.Stream) error { // nothing that was read is removed
			push(t, s, ofHundred("y", notRead)...)
			return s.TruncateBack(2*notRead + 1)
		},
		"events that were read have been removed": func(s *eventlog.Stream) error { return s.TruncateBack(notRead) },
		"events that were read have been removed, of which the second time does not tell": func(s *eventlog.Stream) error {
			must(t, s.TruncateBack(notRead))
			push(t, s, ofHundred("y", 2*notRead)...)
			return s.TruncateBack(3*notRead - 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			s := openStream(t, dir, eventlog.StreamOptions{})
			push(t, s, ofHundred("x", 2*notRead)...)
			var all strings.Builder
			for e, err := range s.Events(0) {
				must(t, err)
				fmt.Fprintf(&all, "%d %d %x\n", e.Seq, e.Time.UnixNano(), e.Data)
			}
			out, text, err := pythonBeside(t, dir, func() { must(t, meanwhile(s)) })
			want, _, _ := strings.Cut(name, ",")
			if out != all.String() || (err != nil) != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%v, %q after %d bytes of %d", err, text, len(out), all.Len())
			}
		})
	}
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
