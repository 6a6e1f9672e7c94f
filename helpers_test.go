package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// anyFile is the method set of *os.File. A program that uses only these methods works
// with both kinds of file.
type anyFile interface {
	Chdir() error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	Close() error
	Fd() uintptr
	Name() string
	Read(b []byte) (int, error)
	ReadAt(b []byte, off int64) (int, error)
	ReadDir(n int) ([]fs.DirEntry, error)
	ReadFrom(r io.Reader) (int64, error)
	Readdir(n int) ([]fs.FileInfo, error)
	Readdirnames(n int) ([]string, error)
	Seek(offset int64, whence int) (int64, error)
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	Stat() (fs.FileInfo, error)
	Sync() error
	SyscallConn() (syscall.RawConn, error)
	Truncate(size int64) error
	Write(b []byte) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	WriteString(s string) (int, error)
	WriteTo(w io.Writer) (int64, error)
}

var (
	_ anyFile = (*os.File)(nil)
	_ anyFile = (*mmapfile.File)(nil)
)

var page = int64(os.Getpagesize())

// tempDir returns a directory that is removed at the end of the test.
var tempDir = mmapfile.TempDir

// tempFile puts content into a new file and returns its name.
func tempFile(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(tempDir(t), "data")
	writeFile(t, name, content)
	return name
}

// writeFile writes content to the file name.
func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readFile returns the content of the file name.
func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mustOpen opens name for reading and writing, and closes it at the end of the test.
func mustOpen(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	return mustOpenFile(t, name, os.O_RDWR)
}

// mustOpenFile opens name with flag, and closes it at the end of the test.
func mustOpenFile(t testing.TB, name string, flag int) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openReadOnly opens name for reading. The caller closes it.
func openReadOnly(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// openUnclosed opens and maps name. Only the caller, or the garbage collector, closes it.
func openUnclosed(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	mustMap(t, f)
	return f
}

// mustOpenPrivate opens name copy on write, and closes it at the end of the test.
func mustOpenPrivate(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openWithPolicy opens a new file of size bytes with policy p, and counts its flushes.
func openWithPolicy(t testing.TB, size int, p mmapfile.FlushPolicy) (f *mmapfile.File, flushes *atomic.Int64) {
	t.Helper()
	f, err := mmapfile.Options{Flush: p}.OpenFile(tempFile(t, pattern(size)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	flushes = new(atomic.Int64)
	mmapfile.OnFlush(f, func() error { flushes.Add(1); return nil })
	return f, flushes
}

// mustMap maps f. It does nothing in a build without mappings, because Bytes would make
// a copy there.
func mustMap(t testing.TB, f *mmapfile.File) {
	t.Helper()
	if !mmapfile.CanMap {
		return
	}
	if f.Bytes() == nil {
		t.Fatal("Bytes returned nil for a file that can be mapped")
	}
	if !mmapfile.Mapped(f) {
		t.Fatal("the file is not mapped after Bytes")
	}
	mmapfile.HoldPages(t)
	mmapfile.PrefaultAll(f)
}

// mustOpenMapped opens and maps name, as mustOpen and mustMap do.
func mustOpenMapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f := mustOpen(t, name)
	mustMap(t, f)
	return f
}

// prefaultWrites rewrites every page so often that further writes to it are mapped writes.
func prefaultWrites(t testing.TB, f anyFile, content []byte) {
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

// pattern returns n bytes without a zero. Each byte follows from the one before.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = patternByte(int64(i))
	}
	return b
}

// patternByte returns the byte of the pattern at off.
func patternByte(off int64) byte { return byte(off%251) + 1 }

// patternWithZeros returns n bytes that depend on their position. Some of them are zero.
func patternWithZeros(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

// checkContiguous returns an error unless b is a part of a pattern.
func checkContiguous(b []byte) error {
	for i := 1; i < len(b); i++ {
		if b[i] != b[i-1]%251+1 {
			return fmt.Errorf("byte %d is %d after %d", i, b[i], b[i-1])
		}
	}
	return nil
}

// checkOldOrZero returns an error unless each byte is zero, or that of a pattern at off. Both may
// be in a file that was truncated and extended.
func checkOldOrZero(b []byte, off int64) error {
	for i, c := range b {
		if c != 0 && c != patternByte(off+int64(i)) {
			return fmt.Errorf("byte %d is %d, neither 0 nor %d", off+int64(i), c, patternByte(off+int64(i)))
		}
	}
	return nil
}

// checkReadResult checks the rule for n and err of ReadAt: a short read is io.EOF.
func checkReadResult(n, asked int, err error) error {
	switch {
	case n < 0 || n > asked:
		return fmt.Errorf("%d bytes of %d", n, asked)
	case n == asked && err != nil, n < asked && err != io.EOF:
		return fmt.Errorf("%d bytes of %d with error %v", n, asked, err)
	}
	return nil
}

// errorText describes err. It has no path, but says whether the path is name.
func errorText(err error, name string) string {
	var pe *fs.PathError
	switch {
	case err == nil:
		return "nil"
	case errors.As(err, &pe):
		return fmt.Sprintf("%T in PathError{%s, %v, own path: %v}", err, pe.Op, pe.Err, pe.Path == name)
	}
	return fmt.Sprintf("%T %v", err, err)
}

// sameBytes fails the test if got and want differ, and reports the first difference.
func sameBytes(t testing.TB, what string, got, want []byte) {
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

// needThreads skips tests of races on platforms without threads.
func needThreads(t *testing.T) {
	t.Helper()
	if runtime.GOARCH == "wasm" {
		t.Skip("one goroutine at a time on wasm: nothing races")
	}
}

// needForeignTruncate skips tests in which another handle truncates a mapped file.
func needForeignTruncate(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to truncate a mapped file")
	}
}

// needFaultAddresses skips the test under emulators, which may report a fault without its address.
func needFaultAddresses(t *testing.T) {
	t.Helper()
	if emulator != "" {
		t.Skip("the emulator may report no fault address")
	}
}

// iterations returns n, or less on slow platforms and in short tests.
func iterations(n int) int {
	if runtime.GOARCH == "wasm" {
		return max(1, n/60) // each call takes 20 µs
	}
	if testing.Short() || mmapfile.RaceDetector {
		return n / 8
	}
	return n
}

// keepGoing reports whether a loop that another goroutine stops goes on. On wasm it yields
// to the other goroutines.
func keepGoing(stop *atomic.Bool) bool {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched()
	}
	return !stop.Load()
}

// together runs fn on n goroutines and waits for them. An error of fn fails the test.
func together(t testing.TB, n int, fn func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := fn(i); err != nil {
				t.Errorf("goroutine %d: %v", i, err)
			}
		}()
	}
	within(t, 2*time.Minute, all.Wait)
}

// within runs fn. If fn takes longer than d, the test fails and prints all stacks.
func within(t testing.TB, d time.Duration, fn func()) {
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

// eventually polls ok for at most d, and reports whether it became true. Other goroutines run
// between polls.
func eventually(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); ; runtime.Gosched() {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// isStatOfClosed reports whether err is that of os.File.Stat on a closed handle of Windows.
// There Stat returns the system's error, not os.ErrClosed.
func isStatOfClosed(err error) bool {
	var pe *fs.PathError
	return runtime.GOOS == "windows" && errors.As(err, &pe) && strings.HasPrefix(pe.Op, "GetFile")
}

// loadSink keeps the compiler from removing loads whose value is not used.
var loadSink atomic.Uint32

// loadBytes loads every byte of p.
func loadBytes(p []byte) {
	var sum uint32
	for _, c := range p {
		sum += uint32(c)
	}
	loadSink.Add(sum)
}

// panicOnFault reports whether SetPanicOnFault is on for this goroutine.
func panicOnFault() bool {
	on := debug.SetPanicOnFault(false)
	debug.SetPanicOnFault(on)
	return on
}

// recovered runs fn and returns the value of its panic.
func recovered(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// isRuntimeError returns a function that reports whether v is a runtime.Error with that text.
func isRuntimeError(text string) func(v any) bool {
	return func(v any) bool {
		err, ok := v.(runtime.Error)
		return ok && strings.Contains(err.Error(), text)
	}
}
