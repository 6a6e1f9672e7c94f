package filetest

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Some tests need another process. It is their own test binary.

// ChildEnv is the environment variable that makes a process a child. Its value is a key of Children.
const ChildEnv = "MMAPFILE_TEST_CHILD"

// Children has the functions that a child process can run. A child fails if its function returns
// an error.
var Children = map[string]func(args []string) error{"truncate": childTruncate}

// ChildProcess runs the child that the environment names, and ends the process. It is the whole of
// TestChildProcess in each package that starts children.
func ChildProcess(t *testing.T) {
	mode := os.Getenv(ChildEnv)
	if mode == "" {
		t.Skip("only in child processes of other tests")
	}
	err := fmt.Errorf("no such child: %q", mode)
	if do := Children[mode]; do != nil {
		err = do(flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Emulator is the command that runs programs of this platform, see platforms/main.go.
var Emulator = os.Getenv("MMAPFILE_EMULATOR")

// Command returns the command line that starts exe, a copy of this test binary.
func Command(exe string, args ...string) []string {
	return append(append(strings.Fields(Emulator), exe), args...)
}

// ChildCommand prepares a child process. Its command line begins with wrap.
func ChildCommand(t testing.TB, wrap []string, mode string, args ...string) *exec.Cmd {
	t.Helper()
	switch runtime.GOOS {
	case "js", "wasip1", "ios", "android":
		t.Skip("no child processes on " + runtime.GOOS)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip("the test binary's name is not known: ", err)
	}
	line := append(slices.Clone(wrap), Command(exe, "-test.run=^TestChildProcess$", "--")...)
	line = append(line, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	// Under the race detector a process waits for a second before it exits, unless told otherwise.
	cmd.Env = append(os.Environ(), ChildEnv+"="+mode, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// StartChild starts a child. It skips the test if the system cannot run the binary, as under an
// emulator.
func StartChild(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Start()
	if err != nil && strings.Contains(err.Error(), "exec format error") {
		t.Skip("this binary cannot start itself: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// RunChild runs a child and returns its output. The test fails if the child fails.
func RunChild(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out, msg bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &msg
	}
	StartChild(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child process: %v\n%s%s", err, out.String(), msg.String())
	}
	return out.String()
}

// childTruncate truncates the file that each line of its input names, and confirms it.
func childTruncate([]string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var size int64
		var name string
		if _, err := fmt.Sscanf(in.Text(), "%d %q", &size, &name); err != nil {
			return err
		}
		if err := os.Truncate(name, size); err != nil {
			return err
		}
		fmt.Println("done")
	}
	return nil
}
