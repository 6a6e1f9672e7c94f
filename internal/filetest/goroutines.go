package filetest

import (
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/race"
)

// NeedThreads skips tests of races on platforms without threads.
func NeedThreads(t testing.TB) {
	t.Helper()
	if runtime.GOARCH == "wasm" {
		t.Skip("one goroutine at a time on wasm: nothing races")
	}
}

// NeedForeignTruncate skips tests in which another handle truncates a mapped file.
func NeedForeignTruncate(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to truncate a mapped file")
	}
}

// NeedFaultAddresses skips the test under emulators, which may report a fault without its address.
func NeedFaultAddresses(t testing.TB) {
	t.Helper()
	if Emulator != "" {
		t.Skip("the emulator may report no fault address")
	}
}

// Iterations returns n, or less on slow platforms and in short tests.
func Iterations(n int) int {
	if runtime.GOARCH == "wasm" {
		return max(1, n/60) // each call takes 20 µs
	}
	if testing.Short() || race.Detector {
		return n / 8
	}
	return n
}

// KeepGoing reports whether a loop that another goroutine stops goes on. On wasm it yields to the
// other goroutines.
func KeepGoing(stop *atomic.Bool) bool {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched()
	}
	return !stop.Load()
}

// Together runs fn on n goroutines and waits for them. An error of fn fails the test.
func Together(t testing.TB, n int, fn func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := fn(i); err != nil {
				t.Errorf("goroutine %d: %v", i, err)
			}
		})
	}
	Within(t, all.Wait)
}

// hangs is longer than what tests wait for takes on a machine that does ten other things.
const hangs = 3 * time.Minute

// Within runs fn. If fn seems to hang, the test fails and prints all stacks.
func Within(t testing.TB, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	timer := time.NewTimer(hangs)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		b := make([]byte, 1<<20)
		t.Fatalf("still hangs after %v:\n%s", hangs, b[:runtime.Stack(b, true)])
	}
}

// Eventually polls ok, and reports whether it became true before it seems to hang. Other goroutines run
// between polls.
func Eventually(ok func() bool) bool {
	for end := time.Now().Add(hangs); ; runtime.Gosched() {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// LoadSink keeps the compiler from removing loads whose value is not used.
var LoadSink atomic.Uint32

// LoadBytes loads every byte of p.
func LoadBytes(p []byte) {
	var sum uint32
	for _, c := range p {
		sum += uint32(c)
	}
	LoadSink.Add(sum)
}

// PanicOnFault reports whether SetPanicOnFault is on for this goroutine.
func PanicOnFault() bool {
	on := debug.SetPanicOnFault(false)
	debug.SetPanicOnFault(on)
	return on
}

// Recovered runs fn and returns the value of its panic.
func Recovered(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// IsRuntimeError returns a function that reports whether v is a runtime.Error with that text.
func IsRuntimeError(text string) func(v any) bool {
	return func(v any) bool {
		err, ok := v.(runtime.Error)
		return ok && strings.Contains(err.Error(), text)
	}
}

// Receive reads c to its end in a goroutine, and sends what it got.
func Receive(c io.Reader) <-chan []byte {
	got := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(c)
		got <- b
	}()
	return got
}

// IOFunc is a Reader and a Writer.
type IOFunc func(b []byte) (int, error)

func (f IOFunc) Read(b []byte) (int, error) { return f(b) }

func (f IOFunc) Write(b []byte) (int, error) { return f(b) }
