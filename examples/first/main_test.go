package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test the program itself, for program.
func TestMain(m *testing.M) {
	if os.Getenv("FIRST_TEST_MAIN") != "" {
		flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
		flag.CommandLine.Usage = func() { flag.Usage() }
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program returns the program itself, whose temporary directory is dir.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no child processes")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	argv := append(strings.Fields(os.Getenv("MMAPFILE_EMULATOR")), exe)
	cmd := exec.Command(argv[0], append(argv[1:], args...)...)
	cmd.Env = append(os.Environ(), "FIRST_TEST_MAIN=1", "TMPDIR="+dir, "TMP="+dir)
	return cmd
}

// tempDir returns a directory that t.TempDir would not do for: wine cannot remove that.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "first")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func smallFile(t *testing.T, size int) string {
	t.Helper()
	name := filepath.Join(tempDir(t), "data")
	if err := os.WriteFile(name, bytes.Repeat([]byte("record "), size/7+1)[:size], 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("it has left %v, %v", left, err)
	}
}

func TestCompare_SmallFile(t *testing.T) {
	for _, size := range []int{recordSize, 100_001} {
		name := smallFile(t, size)
		report, err := compare(t.Context(), name, 20*time.Millisecond)
		if err != nil || strings.Count(report, " times as fast\n") < 2 || strings.Count(report, "\n  mmapfile.Open ") != 2 || !strings.Contains(report, "by reason (see docs/where-it-pays.md): ") {
			t.Errorf("%d bytes: %v\n%s", size, err, report)
		}
	}
}

func TestCompare_BadFile(t *testing.T) {
	empty, short := smallFile(t, 0), smallFile(t, recordSize-1)
	bad := map[string]string{empty: "has 0 bytes", short: "has 63 bytes", filepath.Dir(short): "is a directory"}
	fifo := filepath.Join(filepath.Dir(short), "fifo")
	if exec.Command("mkfifo", fifo).Run() == nil {
		bad[fifo] = "is not a regular file"
	}
	for name, want := range bad {
		if report, err := compare(t.Context(), name, time.Second); err == nil || err.Error()[:len(name)] != name || !strings.Contains(err.Error(), want) || report != "" {
			t.Errorf("%q, %v, want %s", report, err, want)
		}
	}
	if _, err := compare(t.Context(), short+"x", time.Second); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// changing is a file that another program writes to.
type changing struct {
	file
	n byte
}

func (c *changing) ReadAt(p []byte, _ int64) (int, error) {
	c.n++
	p[0] = c.n
	return len(p), nil
}

func TestLookUpInTurns_DifferentBytes(t *testing.T) {
	before, err := os.Open(smallFile(t, 6400))
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	err = lookUpInTurns(t.Context(), io.Discard, time.Millisecond, 6400, before, new(changing), "changing")
	if err == nil || !strings.HasPrefix(err.Error(), before.Name()) || !strings.Contains(err.Error(), "different bytes") {
		t.Error(err)
	}
}

func TestLookUp_Truncated(t *testing.T) {
	f, err := os.Open(smallFile(t, recordSize-1))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := lookUp(f, recordSize, 0); err == nil || err.Error() != f.Name()+" has become shorter" {
		t.Error(err)
	}
}

// The first one to read something waits for the disk. Each is that as often, however little time there is.
func TestTakeTurns_FirstEquallyOften(t *testing.T) {
	var calls []int
	var first [2]int
	call := func(who int) func(int) (uint32, error) {
		return func(round int) (uint32, error) {
			if calls = append(calls, who); len(calls)%2 == 1 {
				first[who]++
			}
			return uint32(round), nil
		}
	}
	for range 50 {
		calls, first = nil, [2]int{}
		if _, err := takeTurns(t.Context(), 1, "data", call(0), call(1)); err != nil || first[0] == 0 || first[0] != first[1] {
			t.Fatalf("%v; first %v times, in %v", err, first, calls)
		}
	}
}

func TestPrintTimes_Units(t *testing.T) {
	var text strings.Builder
	printTimes(&text, [2]time.Duration{12_345_678 * time.Nanosecond, 24_000}, 1, "x")
	got := strings.Join(strings.Fields(text.String()), " ")
	if want := "os.Open 12.3ms x 24µs 514.40 times as fast"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The second table says what it has opened the file with, and whether that was mapped.
func TestPromiseNoChange_SmallFile(t *testing.T) {
	before, err := os.Open(smallFile(t, 100_001))
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	var text strings.Builder
	if err := promiseNoChange(t.Context(), &text, 20*time.Millisecond, 100_001, before); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "overlayfs") || !strings.Contains(got, "\n  Options{Immutable: true} ") || strings.Contains(got, "mmapfile.Open") {
		t.Error(got)
	}
}

func TestCompare_Canceled(t *testing.T) {
	dir, small := tempDir(t), smallFile(t, 1000)
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	for _, args := range [][]string{nil, {small}} {
		if report, err := run(ctx, args, time.Hour); !errors.Is(err, stopped) || report != "" {
			t.Errorf("%q: %q, %v", args, report, err)
		}
	}
	wantEmpty(t, dir)
}

func TestMain_Interrupt(t *testing.T) { testSignal(t, os.Interrupt) }

// testSignal has s end the program while it makes its file.
func testSignal(t *testing.T, s os.Signal) {
	t.Helper()
	dir := tempDir(t)
	cmd := program(t, dir)
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted alone")
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("this program cannot be started: ", err)
	}
	stderr := bufio.NewReader(pipe)
	start, err := stderr.ReadString(')') // it makes its file
	if err != nil || !strings.HasPrefix(start, "making "+dir) {
		t.Errorf("%q, %v", start, err)
	}
	var rest []byte
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		rest, err = io.ReadAll(stderr)
	}()
	for range 1000 { // it removes the file however often it is told to end
		if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		runtime.Gosched()
	}
	<-ended
	if err := errors.Join(err, cmd.Wait()); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(rest), "first: "+s.String()) {
		t.Errorf("%v: %s", err, rest)
	}
	wantEmpty(t, dir)
}

func TestMain_Status(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"-h"}, 0, "usage: first [FILE]"},
		{[]string{"a", "b"}, 2, "usage: first [FILE]"},
		{[]string{smallFile(t, 9)}, 1, "a record has 64"},
		{[]string{""}, 1, "the name of the file is empty"},
	} {
		cmd := program(t, tempDir(t), c.args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skip("this program cannot be started: ", err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.want || !strings.Contains(string(out), c.says) {
			t.Errorf("%q: status %d, want %d; %s", c.args, got, c.want, out)
		}
	}
}
