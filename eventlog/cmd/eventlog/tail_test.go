package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

func TestTail_Last(t *testing.T) {
	t.Parallel()
	for _, path := range []string{newLog(t, six...), newStream(t, six...)} {
		for n := range 8 {
			last := strings.Join(six[max(len(six)-n, 0):], "\n")
			if n > 0 {
				last += "\n"
			}
			want(t, 0, last, path, "tail", "-raw", fmt.Sprint("-n=", n))
		}
	}
	want(t, 0, "", newLog(t), "tail")
	want(t, 0, "", newStream(t), "tail")
}

// follow runs tail -f with a live writer, and ends it by the context.
func follow(t *testing.T, path string, to target) {
	t.Helper()
	defer to.Close()
	push(t, to, "one", "two", "three")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, out := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"tail", "-f", "-n=2", "-raw", path}, out, &errs)
		out.Close()
	}()
	lines := bufio.NewReader(in)
	read := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
	}
	read("two")
	read("three")
	for i := range 100 {
		push(t, to, fmt.Sprint("live ", i))
		read(fmt.Sprint("live ", i))
	}
	cancel()
	if code := <-ended; code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}

func TestTail_FollowLog(t *testing.T) {
	t.Parallel()
	name := filepath.Join(newDir(t), "a.log")
	l, err := eventlog.Open(name, eventlog.Options{})
	must(t, err)
	follow(t, name, l)
}

func TestTail_FollowStream(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{SegmentSize: 200})
	must(t, err)
	follow(t, dir, s)
}

// A reader that goes away ends tail -f with the next event.
func TestTail_BrokenPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(newDir(t), "a.log")
	l, err := eventlog.Open(name, eventlog.Options{})
	must(t, err)
	defer l.Close()
	push(t, l, "one")
	in, out := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int)
	go func() { ended <- run(context.Background(), []string{"tail", "-f", "-raw", name}, out, &errs) }()
	if line, err := bufio.NewReader(in).ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("%q, %v", line, err)
	}
	in.Close()
	push(t, l, "two")
	if code := <-ended; code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}
