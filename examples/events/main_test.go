package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// logName is the name of a file that is not there.
func logName(t *testing.T) string {
	dir, err := os.MkdirTemp("", "events") // not t.TempDir, which wine cannot remove
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "log")
}

func TestFollow(t *testing.T) {
	name := logName(t)
	long := strings.Repeat("a long line ", 20_000)
	if err := write(name, strings.NewReader("one\n"+long+"\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- follow(ctx, name, out) }()
	lines := bufio.NewReader(in)
	for i, want := range []string{"one", long, "two", "three"} {
		if i == 3 {
			if err := write(name, strings.NewReader("three")); err != nil {
				t.Fatal(err)
			}
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasSuffix(line, " "+want+"\n") {
			t.Fatalf("%.100q, %v, want %.100q", line, err, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFollow_NoLog(t *testing.T) {
	name := logName(t)
	if err := follow(context.Background(), name, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(name, []byte("This is no log, but a text of some length.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	read, written := follow(ctx, name, io.Discard), write(name, strings.NewReader("x"))
	for _, err := range []error{read, written} {
		var damage *eventlog.CorruptError
		if !errors.As(err, &damage) || damage.Offset != 0 || !strings.Contains(err.Error(), "not the header of a log") {
			t.Errorf("a text: %v", err)
		}
	}
}

func TestWaitUnread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not every system tells")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan struct{})
	go func() {
		waitUnread(w)
		close(ended)
	}()
	select {
	case <-ended:
		t.Fatal("the pipe has a reader")
	case <-time.After(50 * time.Millisecond):
	}
	r.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits")
	}
}
