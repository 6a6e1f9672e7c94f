package mmapfile_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Some tests need another process. It is this test binary, and childEnv selects what it does.

const childEnv = "MMAPFILE_TEST_CHILD"

// children has the functions that a child process can run. A child fails if its function
// returns an error.
var children = map[string]func(args []string) error{
	"cat":      childCat,
	"truncate": childTruncate,
	"churn":    childChurn,
}

// TestChildProcess is the entry point of child processes. It tests nothing.
func TestChildProcess(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		t.Skip("only in child processes of other tests")
	}
	err := fmt.Errorf("no such child: %q", mode)
	if do := children[mode]; do != nil {
		err = do(flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// emulator is the command that runs programs of this platform, see platforms/main.go.
var emulator = os.Getenv("MMAPFILE_EMULATOR")

// testCommand returns the command line that starts exe, a copy of this test binary.
func testCommand(exe string, args ...string) []string {
	return append(append(strings.Fields(emulator), exe), args...)
}

// childCommand prepares a child process. Its command line begins with wrap.
func childCommand(t testing.TB, wrap []string, mode string, args ...string) *exec.Cmd {
	t.Helper()
	switch runtime.GOOS {
	case "js", "wasip1", "ios", "android":
		t.Skip("no child processes on " + runtime.GOOS)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip("the test binary's name is not known: ", err)
	}
	line := append(slices.Clone(wrap), testCommand(exe, "-test.run=^TestChildProcess$", "--")...)
	line = append(line, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	// Under the race detector a process waits for a second before it exits, unless told otherwise.
	cmd.Env = append(os.Environ(), childEnv+"="+mode, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// startChild starts a child. It skips the test if the system cannot run the binary, as under
// an emulator.
func startChild(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Start()
	if err != nil && strings.Contains(err.Error(), "exec format error") {
		t.Skip("this binary cannot start itself: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runChild runs a child and returns its output. The test fails if the child fails.
func runChild(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out, msg bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &msg
	}
	startChild(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child process: %v\n%s%s", err, out.String(), msg.String())
	}
	return out.String()
}

// childCat copies n bytes of its standard input to its standard output, or all if n is negative.
// It reads no byte after those.
func childCat(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if n >= 0 {
		in = io.LimitReader(os.Stdin, int64(n))
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
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

// childChurn truncates, extends and rewrites a file of the pattern, n times.
func childChurn(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	return churnFile(f, fi.Size(), n)
}

// churnFile does the same as childChurn, to an open file.
func churnFile(f anyFile, size int64, n int) error {
	whole := pattern(int(size))
	for i := range n {
		cut := rand.Int64N(size)
		if i%5 == 0 {
			cut = 0
		}
		if err := f.Truncate(cut); err != nil {
			return err
		}
		if i%2 == 0 {
			if err := f.Truncate(size); err != nil {
				return err
			}
		}
		if i%3 == 0 {
			if _, err := f.WriteAt(whole[cut:], cut); err != nil {
				return err
			}
		}
	}
	return f.Truncate(size)
}
