package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

var abc = []string{"one", "\"two\"\n", "\xff\x00", ""}

func TestDump_Log(t *testing.T) {
	t.Parallel()
	name := newLog(t, abc...)
	before := files(t, name)
	want(t, 0, `24 2023-11-14T22:13:22Z one
43 2023-11-14T22:13:23Z "\"two\"\n"
65 2023-11-14T22:13:24Z "\xff\x00"
83 2023-11-14T22:13:25Z 
`, name, "dump")
	want(t, 0, `{"offset":24,"time":"2023-11-14T22:13:22Z","data":"one"}
{"offset":43,"time":"2023-11-14T22:13:23Z","data":"\"two\"\n"}
{"offset":65,"time":"2023-11-14T22:13:24Z","base64":"/wA="}
{"offset":83,"time":"2023-11-14T22:13:25Z","data":""}
`, name, "dump", "-json")
	want(t, 0, "one\n", name, "dump", "-raw", "-n=1")
	want(t, 0, "", name, "dump", "-n=0")
	want(t, 0, "\xff\x00\n\n", name, "dump", "-raw", "-from=65")
	want(t, 0, "\xff\x00\n\n", name, "dump", "-raw", "-since=2023-11-14T22:13:24Z")
	want(t, 0, "", name, "dump", "-since=1h")
	if !maps.Equal(before, files(t, name)) {
		t.Error("the files have changed")
	}
}

func TestDump_Stream(t *testing.T) {
	t.Parallel()
	dir := newStream(t, abc...)
	before := files(t, dir)
	want(t, 0, `{"seq":1,"time":"2023-11-14T22:13:23Z","data":"\"two\"\n"}
{"seq":2,"time":"2023-11-14T22:13:24Z","base64":"/wA="}
`, dir, "dump", "-json", "-from=1", "-n=2")
	want(t, 0, "one\n\"two\"\n\n\xff\x00\n\n", dir, "dump", "-raw")
	if !maps.Equal(before, files(t, dir)) {
		t.Error("the files have changed")
	}
}

func TestDump_FromAfterEnd(t *testing.T) {
	t.Parallel()
	for path, message := range map[string]string{
		newLog(t, abc...):    "eventlog: PATH: position 1000 is after the end, which is 99\n",
		newStream(t, abc...): "eventlog: PATH: position 1000 is after the end, which is 4\n",
	} {
		if code, out, errs := call(t, path, "dump", "-from=1000"); code != 1 || out != "" || errs != message {
			t.Errorf("exit code %d, %q, %q, want %q", code, out, errs, message)
		}
	}
	want(t, 0, "", newStream(t, abc...), "dump", "-from=4")
}

func TestRun_JSONBeforeTheCommand(t *testing.T) {
	t.Parallel()
	name := newLog(t, abc...)
	for _, flag := range []string{"-json", "--json"} {
		want(t, 0, `{"path":"PATH","segments":1,"fileBytes":119,"first":24,"next":99,"events":4,"bytes":11,"minData":0,"maxData":6,"oldest":"2023-11-14T22:13:22Z","newest":"2023-11-14T22:13:25Z","damage":0}`+"\n", name, flag, "verify")
	}
	want(t, 0, "PATH: 4 events, 11 bytes of data; damaged places: 0\n", name, "-json", "verify", "-json=false")
}

func TestDump_Misuse(t *testing.T) {
	t.Parallel()
	name := newLog(t, abc...)
	for _, args := range [][]string{
		{"dump", "-n=-1"}, {"dump", "-from=-1"}, {"dump", "-n=x"}, {"dump", "-since=x"}, {"dump", "-from=24", "-since=1h"},
		{"dump", "-y"}, {"dump", "second"}, {"dump", "-raw", "-json"}, {"tail", "-n=-1"}, {"tail", "-json", "-raw"}, {"bench"}, {"stats"}, {"copy"}, {"undo"},
	} {
		if code, out, errs := call(t, name, args...); code != 2 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, errs)
		}
	}
	for _, args := range [][]string{nil, {"verify"}} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &errs)
		}
	}
}

func TestRun_NotALog(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte("This is no log, but a text of some length.\n"), 0o600))
	sub := filepath.Join(dir, "sub") // with a name that is no sequence number
	must(t, os.Mkdir(sub, 0o700))
	must(t, os.WriteFile(filepath.Join(sub, "99999999999999999999.log"), nil, 0o600))
	for _, c := range commands[:len(commands)-1] {
		for _, path := range []string{dir, sub, filepath.Join(dir, "none")} {
			if code, out, errs := call(t, path, c.name); code != 1 || out != "" || !strings.HasPrefix(errs, "eventlog: ") {
				t.Errorf("%s of no log: exit code %d, %q, %q", c.name, code, out, errs)
			}
		}
		if c.name != "repair" {
			if code, _, _ := call(t, text, c.name); code != 1 {
				t.Errorf("%s of a text: exit code %d", c.name, code)
			}
		}
	}
	for _, dir := range []string{dir, sub} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 2 || dir == sub && len(entries) > 1 {
			t.Errorf("files were made: %v, %v", entries, err)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var all, errs bytes.Buffer
	if code := run(context.Background(), []string{"help"}, &all, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d, %s", code, &errs)
	}
	for _, c := range commands {
		if !strings.Contains(all.String(), "\n  "+c.name) {
			t.Errorf("help does not name %s", c.name)
		}
		var out, short bytes.Buffer
		if code := run(context.Background(), []string{"help", c.name}, &out, &errs); code != 0 || errs.Len() > 0 {
			t.Errorf("help of %s: exit code %d, %s", c.name, code, &errs)
		}
		run(context.Background(), []string{c.name, "-h"}, &short, &errs)
		if short.String() != out.String() || !strings.Contains(out.String(), "-json") || bytes.Count(out.Bytes(), []byte("\n")) > 24 {
			t.Errorf("help of %s is not one screen:\n%s", c.name, &out)
		}
	}
	if n := bytes.Count(all.Bytes(), []byte("\n")); n > 24 {
		t.Errorf("help has %d lines", n)
	}
}

// failing is an output that does not accept anything.
type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestRun_Output(t *testing.T) {
	t.Parallel()
	name := newLog(t, strings.Repeat("long ", 2000), "two")
	for _, args := range [][]string{{"dump"}, {"tail"}, {"tail", "-f"}, {"verify"}} {
		var errs bytes.Buffer
		if code := run(context.Background(), append(args, name), failing{io.ErrClosedPipe}, &errs); code != 0 || errs.Len() > 0 {
			t.Errorf("%q with a broken pipe: exit code %d, %q", args, code, &errs)
		}
		full := failing{errors.New("disk full")}
		if code := run(context.Background(), append(args, name), full, &errs); code != 1 || errs.String() != "eventlog: disk full\n" {
			t.Errorf("%q with a full disk: exit code %d, %q", args, code, &errs)
		}
	}
}

func TestRun_BrokenPipe(t *testing.T) {
	t.Parallel()
	name := newLog(t, strings.Repeat("long ", 2000))
	r, w, err := os.Pipe()
	if err != nil {
		t.Skip(err)
	}
	defer w.Close()
	r.Close()
	var errs bytes.Buffer
	if code := run(context.Background(), []string{"dump", name}, w, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, %q", code, &errs)
	}
}

func TestRun_Progress(t *testing.T) {
	t.Parallel()
	name := filepath.Join(newDir(t), "a.log")
	l, err := eventlog.Open(name, eventlog.Options{})
	must(t, err)
	defer l.Close() // it stays open: reading needs no lock
	for i := range 1000 {
		push(t, l, fmt.Sprint(i))
	}
	for _, c := range []string{"dump", "tail", "verify"} {
		var out, errs bytes.Buffer
		if code := runAfter(context.Background(), []string{c, name}, &out, &errs, 0); code != 0 || !strings.HasPrefix(errs.String(), "eventlog: "+c+": ") {
			t.Errorf("%s: exit code %d, %q", c, code, &errs)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		errs.Reset()
		if code := run(ctx, []string{c, name}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "canceled") {
			t.Errorf("%s, interrupted: exit code %d, %q", c, code, &errs)
		}
	}
}

func TestCopy_Stream(t *testing.T) {
	t.Parallel()
	src, dst := newStream(t, six...), filepath.Join(newDir(t), "copy")
	var out, errs bytes.Buffer
	if code := runAfter(context.Background(), []string{"copy", src, dst}, &out, &errs, 0); code != 0 || !strings.Contains(errs.String(), "eventlog: copy: ") || !strings.HasPrefix(out.String(), dst+": 217 bytes") {
		t.Errorf("exit code %d, %q, %q", code, &out, &errs)
	}
	want(t, 0, "PATH: 6 events, 49 bytes of data; damaged places: 0\n", dst, "verify")
	want(t, 0, `{"path":"PATH","bytes":217}`+"\n", dst+"2", "-json", "copy", src)
	if code, _, errs := call(t, dst, "copy", src); code != 1 || !strings.Contains(errs, "exist") {
		t.Errorf("to a directory that is there: exit code %d, %q", code, errs)
	}
	if code, _, errs := call(t, dst+"3", "copy", newLog(t, six...)); code != 1 || !strings.Contains(errs, "is a log") {
		t.Errorf("of a log: exit code %d, %q", code, errs)
	}
	s, err := eventlog.OpenStream(dst, eventlog.StreamOptions{})
	must(t, err)
	defer s.Close()
	if s.Next() != 6 || s.Recovery().TruncatedBytes != 0 {
		t.Errorf("next is %d, %+v", s.Next(), s.Recovery())
	}
}
