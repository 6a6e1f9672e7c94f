package mmapfile_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// An ftFile is what the two kinds of file have in common.
type ftFile interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.ReaderFrom
	io.WriterTo
	io.StringWriter
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

var (
	_ ftFile = (*os.File)(nil)
	_ ftFile = (*mmapfile.File)(nil)
)

// ftDir is t.TempDir, except on Windows, where the removal of files that are
// still mapped by a File not yet collected must not fail the test.
func ftDir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// ftTemp puts content into a new file and returns its name.
func ftTemp(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(ftDir(t), "data")
	ftPut(t, name, content)
	return name
}

func ftPut(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func ftGet(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ftOpen opens name for reading and writing, and closes it at the test's end.
func ftOpen(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// ftOpenUnmapped opens name for reading and leaves the closing to the caller.
func ftOpenUnmapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ftMap has f served from a mapping. A build without mappings is left alone:
// there Bytes would put a copy in front of the file.
func ftMap(t testing.TB, f *mmapfile.File) {
	t.Helper()
	if !mmapfile.CanMap {
		return
	}
	if f.Bytes() == nil {
		t.Fatal("Bytes gave nothing for a file that can be mapped")
	}
	if !mmapfile.Mapped(f) {
		t.Fatal("the file is not mapped after Bytes")
	}
}

// ftOpenMapped is ftOpen and ftMap.
func ftOpenMapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f := ftOpen(t, name)
	ftMap(t, f)
	return f
}

// ftHeat rewrites every page often enough to have stores, not pwrite, do it.
func ftHeat(t testing.TB, f ftFile, content []byte) {
	t.Helper()
	const piece = 64
	for off := 0; off < len(content); off += 4096 {
		b := content[off:min(off+piece, len(content))]
		for range 100 {
			if _, err := f.WriteAt(b, int64(off)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ftPattern is n bytes, none of them zero, each following from the one before.
func ftPattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = ftByte(int64(i))
	}
	return b
}

func ftByte(off int64) byte { return byte(off%251) + 1 }

// ftContiguous says whether b is a piece of a pattern, from wherever.
func ftContiguous(b []byte) error {
	for i := 1; i < len(b); i++ {
		if b[i] != b[i-1]%251+1 {
			return fmt.Errorf("byte %d is %d after %d", i, b[i], b[i-1])
		}
	}
	return nil
}

// ftOldOrZero says whether b is what a pattern's file that is cut and extended may hold at off.
func ftOldOrZero(b []byte, off int64) error {
	for i, c := range b {
		if c != 0 && c != ftByte(off+int64(i)) {
			return fmt.Errorf("byte %d is %d, neither 0 nor %d", off+int64(i), c, ftByte(off+int64(i)))
		}
	}
	return nil
}

// ftReadResult checks the rule for n and err of a positional read of regular files.
func ftReadResult(n, asked int, err error) error {
	switch {
	case n < 0 || n > asked:
		return fmt.Errorf("%d bytes of %d", n, asked)
	case n == asked && err != nil, n < asked && err != io.EOF:
		return fmt.Errorf("%d bytes of %d with error %v", n, asked, err)
	}
	return nil
}

// ftErr is an error as text, without the path but saying whether it is the right one.
func ftErr(err error, name string) string {
	var pe *fs.PathError
	switch {
	case err == nil:
		return "nil"
	case errors.As(err, &pe):
		return fmt.Sprintf("%T in PathError{%s, %v, own path: %v}", err, pe.Op, pe.Err, pe.Path == name)
	}
	return fmt.Sprintf("%T %v", err, err)
}

// ftSame fails the test at the first byte where the two differ.
func ftSame(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: %d bytes, want %d; they differ from byte %d", what, len(got), len(want), i)
}

// ftNeedsThreads skips tests of races where there are none.
func ftNeedsThreads(t *testing.T) {
	t.Helper()
	if runtime.GOARCH == "wasm" {
		t.Skip("one goroutine at a time on wasm: nothing races")
	}
}

// ftGoOn is the condition of a loop that other goroutines stop. On wasm they get a turn only if it yields.
func ftGoOn(stop *atomic.Bool) bool {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched()
	}
	return !stop.Load()
}

// ftStatOfClosed says whether err is what os.File.Stat makes of a closed handle on Windows, which it asks
// without looking: any of the system's errors, and not os.ErrClosed.
func ftStatOfClosed(err error) bool {
	var pe *fs.PathError
	return runtime.GOOS == "windows" && errors.As(err, &pe) && strings.HasPrefix(pe.Op, "GetFile")
}

// ftWithin runs fn and fails with every stack if it hangs.
func ftWithin(t testing.TB, d time.Duration, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		b := make([]byte, 1<<20)
		t.Fatalf("still hangs after %v:\n%s", d, b[:runtime.Stack(b, true)])
	}
}

// ftUntil polls ok until it holds, for at most d; between polls other goroutines run.
func ftUntil(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); ; runtime.Gosched() {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Some tests need another process. It is this test binary, told by the environment what to do.

const ftChildEnv = "MMAPFILE_TEST_CHILD"

// ftChildren is what a child process can be asked to do; its error is the child's failure.
var ftChildren = map[string]func(args []string) error{
	"cat":      ftChildCat,
	"truncate": ftChildTruncate,
	"churn":    ftChildChurn,
}

// TestChildProcess is no test: it is the door through which a child process enters.
func TestChildProcess(t *testing.T) {
	mode := os.Getenv(ftChildEnv)
	if mode == "" {
		t.Skip("only in child processes of other tests")
	}
	err := fmt.Errorf("no such child: %q", mode)
	if do := ftChildren[mode]; do != nil {
		err = do(flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ftEmulator is what programs of this platform are started with, see platforms/main.go.
var ftEmulator = os.Getenv("MMAPFILE_EMULATOR")

// ftCommand is the command line that starts exe, a copy of this test, here.
func ftCommand(exe string, args ...string) []string {
	return append(append(strings.Fields(ftEmulator), exe), args...)
}

// ftChild prepares a child process; wrap is put in front of its command line.
func ftChild(t testing.TB, wrap []string, mode string, args ...string) *exec.Cmd {
	t.Helper()
	switch runtime.GOOS {
	case "js", "wasip1", "ios", "android":
		t.Skip("no child processes on " + runtime.GOOS)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip("the test binary's name is not known: ", err)
	}
	line := append(slices.Clone(wrap), ftCommand(exe, "-test.run=^TestChildProcess$", "--")...)
	line = append(line, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), ftChildEnv+"="+mode)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// ftStart starts a child. Under an emulator the system may not know how to run the binary: skip.
func ftStart(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Start()
	if err != nil && strings.Contains(err.Error(), "exec format error") {
		t.Skip("this binary cannot start itself: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ftRun runs a child to its end and fails the test if it fails.
func ftRun(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out, msg bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &msg
	}
	ftStart(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child process: %v\n%s%s", err, out.String(), msg.String())
	}
	return out.String()
}
