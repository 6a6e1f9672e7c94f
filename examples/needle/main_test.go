package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func ftFile(t *testing.T) string {
	dir, err := os.MkdirTemp("", "needle") // not t.TempDir, which wine cannot remove
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "data")
	if err := os.WriteFile(name, []byte("\x00\x00needle"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSearch(t *testing.T) {
	name := ftFile(t)
	for _, c := range []struct {
		text []string
		want string
	}{{nil, "found at 2:"}, {[]string{"needle"}, "found at 2:"}, {[]string{"no such"}, "not found:"}} {
		var out strings.Builder
		found, err := search(context.Background(), &out, name, c.text)
		if found != strings.HasPrefix(c.want, "found") || err != nil || !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%q: %v, %v, %q", c.text, found, err, out.String())
		}
	}
}

func TestSearch_NoFile(t *testing.T) {
	name := ftFile(t)
	var out strings.Builder
	if _, err := search(context.Background(), &out, name+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := search(context.Background(), &out, filepath.Dir(name), nil); err == nil || strings.Contains(err.Error(), "unsupported") {
		t.Errorf("a directory: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("it says %q", out.String())
	}
}

// TestMain makes the test the program itself, for TestMain_Status.
func TestMain(m *testing.M) {
	if os.Getenv("NEEDLE_TEST_MAIN") != "" {
		flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestMain_Status(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no child processes")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	name := ftFile(t)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{name, "needle"}, 0}, {[]string{name, "no such"}, 1}, {[]string{name + "x"}, 2},
		{[]string{filepath.Dir(name)}, 2}, {[]string{"-h"}, 0}, {nil, 2}, {[]string{"-x", name}, 2},
	} {
		argv := append(strings.Fields(os.Getenv("MMAPFILE_EMULATOR")), exe)
		cmd := exec.Command(argv[0], append(argv[1:], c.args...)...)
		cmd.Env = append(os.Environ(), "NEEDLE_TEST_MAIN=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skip("this program cannot be started: ", err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("needle %q: status %d, want %d; %s", c.args, got, c.want, out)
		}
	}
}
