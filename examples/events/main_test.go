package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsWrittenIsFollowed(t *testing.T) {
	dir, err := os.MkdirTemp("", "events") // not t.TempDir, which wine cannot remove
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "log")
	if err := write(name, strings.NewReader("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- follow(ctx, name, out) }()
	lines := bufio.NewScanner(in)
	for i, want := range []string{"one", "two", "three"} {
		if i == 2 {
			if err := write(name, strings.NewReader("three\n")); err != nil {
				t.Fatal(err)
			}
		}
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), " "+want) {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := follow(context.Background(), name+"x", io.Discard); err == nil {
		t.Error("a file that is not there was followed")
	}
}
