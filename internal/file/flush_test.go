package file_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestFlushPolicy_BytesOfEveryMethod(t *testing.T) {
	t.Parallel()
	const size, n = 200_000, 100
	data := filetest.Pattern(n)
	for what, write := range map[string]func(f *mmapfile.File) error{
		"WriteAt":             func(f *mmapfile.File) error { _, err := f.WriteAt(data, 50); return err },
		"WriteAt beyond":      func(f *mmapfile.File) error { _, err := f.WriteAt(data, f.Len()); return err },
		"Write":               func(f *mmapfile.File) error { _, err := f.Write(data); return err },
		"WriteString":         func(f *mmapfile.File) error { _, err := f.WriteString(string(data)); return err },
		"ReadFrom a reader":   func(f *mmapfile.File) error { _, err := f.ReadFrom(bytes.NewReader(data)); return err },
		"ReadFrom an os.File": func(f *mmapfile.File) error { return readFromFile(t, f, data, false) },
		"ReadFrom a File":     func(f *mmapfile.File) error { return readFromFile(t, f, data, true) },
		"WriteTo it": func(f *mmapfile.File) error {
			_, err := filetest.Open(t, filetest.Temp(t, data)).WriteTo(f)
			return err
		},
		"View": func(f *mmapfile.File) error {
			return f.View(0, n, func(p []byte) error { p[0]++; return nil })
		},
	} {
		for _, mapped := range []bool{false, true} {
			f, flushes := openWithPolicy(t, size, mmapfile.FlushPolicy{Bytes: 10 * n})
			if mapped {
				mustMap(t, f)
			}
			for i := range 25 {
				before := flushes.Load()
				if err := write(f); err != nil {
					t.Fatal(what, err)
				}
				got, want := flushes.Load(), before
				if (i+1)%10 == 0 {
					want++
				}
				if got != want {
					t.Errorf("%s, mapped %v: %d flushes after call %d, want %d", what, mapped, got, i+1, want)
				}
			}
			if pending := file.Pending(f); pending != 5*n {
				t.Errorf("%s, mapped %v: %d bytes pending, want %d", what, mapped, pending, 5*n)
			}
			if err := f.Sync(); err != nil || file.Pending(f) != 0 {
				t.Errorf("%s, mapped %v: %d bytes pending after Sync (%v)", what, mapped, file.Pending(f), err)
			}
			f.Close()
		}
	}
}

func readFromFile(t *testing.T, f *mmapfile.File, data []byte, mapped bool) error {
	name := filetest.Temp(t, data)
	var src io.ReadCloser
	src, err := os.Open(name)
	if mapped {
		src.Close()
		src, err = mmapfile.Open(name)
	}
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = f.ReadFrom(src)
	return err
}

func TestFlushPolicy_BytesManyWriters(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const limit = 5000
	f, _ := openWithPolicy(t, 1<<20, mmapfile.FlushPolicy{Bytes: limit})
	filetest.Together(t, 4, func(i int) error {
		for r := range filetest.Iterations(200) {
			if _, err := f.WriteAt(filetest.Pattern(100*(i+1)), int64(i<<18+r*400)); err != nil {
				return err
			}
		}
		return nil
	})
	if n := file.Pending(f); n < 0 || n >= limit {
		t.Errorf("%d bytes pending after all writes have returned", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestFlushPolicy_Interval(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	f, flushes := openWithPolicy(t, 100_000, mmapfile.FlushPolicy{Interval: time.Millisecond})
	for range 3 {
		before := flushes.Load()
		if _, err := f.WriteAt([]byte("x"), 5); err != nil {
			t.Fatal(err)
		}
		if !filetest.Eventually(func() bool { return file.Pending(f) == 0 && flushes.Load() > before }) {
			t.Fatalf("%d bytes pending, %d flushes, %d before", file.Pending(f), flushes.Load(), before)
		}
	}
	// The program may write into exposed memory at any time.
	b := f.Bytes()
	before := flushes.Load()
	if !filetest.Eventually(func() bool { b[7]++; return flushes.Load() > before+2 }) {
		t.Error("nothing is flushed while memory is exposed")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A file that cannot be asked what it is must not lose its policy without a word.
func TestFlushPolicy_FailedStat(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100)))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Flush(f, mmapfile.FlushPolicy{Bytes: 1}); err == nil {
		t.Error("no error")
	}
}

func TestFlushPolicy_IntervalGoroutines(t *testing.T) {
	filetest.NeedThreads(t)
	before := runtime.NumGoroutine()
	for i := range 50 {
		f, err := mmapfile.Options{Flush: mmapfile.FlushPolicy{Interval: time.Hour}}.OpenFile(filetest.Temp(t, filetest.Pattern(100)), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("x")
		if i%2 == 0 {
			f.Close()
		} // the collector closes the others
	}
	if !filetest.Eventually(func() bool { runtime.GC(); return runtime.NumGoroutine() <= before }) {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}

// Close flushes everything that was written, in each of the ways.
func TestClose_FlushesEveryWrite(t *testing.T) {
	t.Parallel()
	for what, store := range map[string]func(f *mmapfile.File) error{
		"Write":    func(f *mmapfile.File) error { _, err := f.Write([]byte("x")); return err },
		"ReadFrom": func(f *mmapfile.File) error { _, err := f.ReadFrom(strings.NewReader("x")); return err },
		"Truncate": func(f *mmapfile.File) error { return f.Truncate(10_000) },
		"Bytes":    func(f *mmapfile.File) error { f.Bytes()[0] = 'x'; return nil },
		"Chunks": func(f *mmapfile.File) error {
			for c, err := range f.Chunks(4096) {
				if err != nil {
					return err
				}
				p := c.Data
				p[0] = 'x'
			}
			return nil
		},
		"the first of Chunks": func(f *mmapfile.File) error {
			for c, err := range f.Chunks(4096) {
				if err != nil {
					return err
				}
				p := c.Data
				p[0] = 'x'
				break
			}
			return nil
		},
		"At": func(f *mmapfile.File) error {
			p, err := mmapfile.At[byte](f, 0)
			if err == nil {
				*p = 'x'
			}
			return err
		},
		"SliceAt": func(f *mmapfile.File) error {
			p, err := mmapfile.SliceAt[byte](f, 0, 10)
			if err == nil {
				p[0] = 'x'
			}
			return err
		},
		"View": func(f *mmapfile.File) error { return f.View(0, 5, func(p []byte) error { p[0] = 'x'; return nil }) },
		"View that fails": func(f *mmapfile.File) error {
			f.View(0, 5, func(p []byte) error { p[0] = 'x'; return io.ErrNoProgress })
			return nil
		},
		"View that panics": func(f *mmapfile.File) error {
			filetest.Recovered(func() { f.View(0, 5, func(p []byte) error { p[0] = 'x'; panic("x") }) })
			return nil
		},
	} {
		for _, p := range []mmapfile.FlushPolicy{{Bytes: 1 << 30}, {Interval: time.Hour}, {Bytes: 1 << 30, Interval: time.Hour}} {
			f, flushes := openWithPolicy(t, 16<<10, p)
			if err := f.View(0, 1, func([]byte) error { return nil }); err != nil { // maps it
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := store(f); err != nil || flushes.Load() != 0 {
				t.Fatalf("%s, %v: %v, %d flushes", what, p, err, flushes.Load())
			}
			if err := f.Close(); err != nil || flushes.Load() != 1 {
				t.Errorf("%s, %v: %d flushes by Close, %v", what, p, flushes.Load(), err)
			}
			if err := f.Close(); !errors.Is(err, os.ErrClosed) || flushes.Load() != 1 {
				t.Errorf("%s, %v: the second Close: %v, %d flushes", what, p, err, flushes.Load())
			}
		}
	}
	f, flushes := openWithPolicy(t, 16<<10, mmapfile.FlushPolicy{Interval: time.Hour})
	f.Advise(0, 100, mmapfile.Sequential)
	if err := f.Close(); err != nil || flushes.Load() != 0 {
		t.Errorf("nothing was written: %d flushes by Close, %v", flushes.Load(), err)
	}
}

// A write beside Close that returned without an error was flushed, if the policy requires it.
func TestClose_FlushBesideWrites(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for round := range filetest.Iterations(300) {
		var written, flushed atomic.Int64
		f := openFlushing(t, 100_000, mmapfile.FlushPolicy{Bytes: 1}, func() error { flushed.Store(written.Load()); return nil })
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := int64(1); ; i++ {
				written.Store(i)
				if _, err := f.WriteAt([]byte{byte(i)}, i%100_000); err != nil {
					written.Store(i - 1)
					return
				}
				if flushed.Load() < i {
					t.Errorf("round %d: write %d has returned, and %d were flushed", round, i, flushed.Load())
					return
				}
			}
		})
		for range round {
			runtime.Gosched()
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		writer.Wait()
	}
}

// An interval policy flushes during a long copy, and during View.
func TestFlushPolicy_IntervalLongCalls(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	f, flushes := openWithPolicy(t, 1000, mmapfile.FlushPolicy{Interval: time.Millisecond})
	r, w := io.Pipe()
	copied := make(chan error)
	go func() { _, err := io.Copy(f, r); copied <- err }()
	for range 3 {
		before := flushes.Load()
		if _, err := w.Write([]byte("some")); err != nil {
			t.Fatal(err)
		}
		if !filetest.Eventually(func() bool { return flushes.Load() > before }) {
			t.Fatal("nothing is flushed during io.Copy")
		}
	}
	w.Close()
	if err := <-copied; err != nil {
		t.Error(err)
	}
	if err := f.View(0, 10, func(p []byte) error {
		before := flushes.Load()
		if !filetest.Eventually(func() bool { return flushes.Load() > before+1 }) {
			t.Error("nothing is flushed during View")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// The next Sync or Close reports a failed flush, once. The write itself succeeds.
func TestFlushPolicy_Failure(t *testing.T) {
	t.Parallel()
	bad := errors.New("the disk is gone")
	for _, by := range []string{"Sync", "Close"} {
		var failure error = bad
		f := openFlushing(t, 1000, mmapfile.FlushPolicy{Bytes: 10}, func() error { return failure })
		if n, err := f.WriteAt(make([]byte, 100), 0); n != 100 || err != nil {
			t.Errorf("the write that flushes: %d, %v", n, err)
		}
		failure = nil
		if n, err := f.WriteAt(make([]byte, 100), 0); n != 100 || err != nil {
			t.Errorf("the write after it: %d, %v", n, err)
		}
		first, second := f.Close, f.Close
		if by == "Sync" {
			first = f.Sync
		}
		op := strings.ToLower(by)
		if err := first(); !errors.Is(err, bad) || err.Error() != op+" "+f.Name()+": "+bad.Error() {
			t.Errorf("%s after a failed flush: %v", by, err)
		}
		if err := second(); errors.Is(err, bad) {
			t.Errorf("the error is reported again after %s: %v", by, err)
		}
	}
}

// openWithPolicy opens a new file of size bytes with policy p, and counts its flushes.
func openWithPolicy(t testing.TB, size int, p mmapfile.FlushPolicy) (f *mmapfile.File, flushes *atomic.Int64) {
	t.Helper()
	flushes = new(atomic.Int64)
	return openFlushing(t, size, p, func() error { flushes.Add(1); return nil }), flushes
}

// openFlushing opens a new file of size bytes with policy p, whose flushes begin with fn.
func openFlushing(t testing.TB, size int, p mmapfile.FlushPolicy, fn func() error) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(filetest.Temp(t, filetest.Pattern(size)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	file.FlushCalling(f, p, fn)
	return f
}

// A flush in the background loses no write of a program into Bytes, and has no data race with it.
// (If Bytes is a copy, the race detector sees it.)
func TestFlushPolicy_BesideBytes(t *testing.T) {
	t.Parallel()
	const size = 100_000
	name := filetest.Temp(t, make([]byte, size))
	f, err := mmapfile.Options{Flush: mmapfile.FlushPolicy{Interval: time.Millisecond}}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := f.Bytes()
	if _, err := f.WriteAt([]byte{0}, size); err != nil { // if Bytes is a copy, the next one is another
		t.Fatal(err)
	}
	b := f.Bytes()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for i := range b {
			b[i] += byte(i)
		}
		filetest.LoadBytes(old) // a flush updates it
		if _, err := f.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	want := append([]byte(nil), b...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), want)
}

// What was written before a Reader of the caller panics is flushed.
func TestFlushPolicy_ReaderPanics(t *testing.T) {
	t.Parallel()
	f, _ := openWithPolicy(t, 0, mmapfile.FlushPolicy{Bytes: 1 << 30})
	r := &panickingConn{f, 3}
	if filetest.Recovered(func() { f.ReadFrom(r) }) == nil {
		t.Fatal("the Reader has not panicked")
	}
	if n := file.Pending(f); n != 300 {
		t.Errorf("%d bytes are pending, want 300", n)
	}
	limited := &io.LimitedReader{R: &panickingConn{f, 3}, N: 1000}
	filetest.Recovered(func() { f.ReadFrom(limited) })
	if limited.N != 700 {
		t.Errorf("%d bytes are left to read, want 700", limited.N)
	}
}

// panickingConn is a Reader that the kernel could copy from. It panics after some reads.
type panickingConn struct {
	syscall.Conn
	reads int
}

func (c *panickingConn) Read(b []byte) (int, error) {
	if c.reads--; c.reads < 0 {
		panic("no more")
	}
	return copy(b, make([]byte, 100)), nil
}

func TestSyncRange_FailedFlush(t *testing.T) {
	t.Parallel()
	bad := errors.New("the disk is gone")
	f := openFlushing(t, 10_000, mmapfile.FlushPolicy{Bytes: 10}, func() error { return bad })
	if _, err := f.WriteAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.SyncRange(0, 100); !errors.Is(err, bad) {
		t.Errorf("SyncRange after a failed flush: %v", err)
	}
	if err := f.Sync(); !errors.Is(err, bad) { // which reports it, too
		t.Errorf("Sync: %v", err)
	}
	if err := errors.Join(f.SyncRange(0, 100), f.Close()); err != nil {
		t.Error(err)
	}
}

// lateConn gives some bytes, and more while the file is being closed.
type lateConn struct {
	syscall.Conn
	reads       int
	began, more chan struct{}
}

func (c *lateConn) Read(b []byte) (int, error) {
	switch c.reads++; c.reads {
	case 1:
		return copy(b, make([]byte, 100)), nil
	case 2:
		close(c.began)
		<-c.more
		return copy(b, make([]byte, 100)), nil
	}
	return 0, io.EOF
}

// A copy whose last bytes come too late for the last flush has an error: Close does not wait for it.
func TestReadFrom_TooLateForClose(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, p := range []mmapfile.FlushPolicy{{Bytes: 1}, {Interval: time.Hour}} {
		c := &lateConn{began: make(chan struct{}), more: make(chan struct{})}
		var once sync.Once
		var f *mmapfile.File
		f = openFlushing(t, 0, p, func() error {
			once.Do(func() {
				close(c.more)
				if !filetest.Eventually(func() bool { return file.Pending(f) == 200 }) {
					t.Error("the copy waits for Close")
				}
			})
			return nil
		})
		c.Conn = f
		copied := make(chan error)
		go func() {
			n, err := f.ReadFrom(c)
			if n != 200 {
				t.Errorf("%d bytes copied", n)
			}
			copied <- err
		}()
		<-c.began
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := <-copied; !errors.Is(err, os.ErrClosed) {
			t.Errorf("%+v: ReadFrom: %v, and its last bytes are not durable", p, err)
		}
	}
}

// A write of nothing, or before the start of the file, has the results of os.File.
func TestFlushPolicy_WritesOfNothing(t *testing.T) {
	t.Parallel()
	const size = 100_000
	for _, mapped := range []bool{false, true} {
		f, _ := openWithPolicy(t, size, mmapfile.FlushPolicy{Bytes: 1 << 20})
		if mapped {
			mustMap(t, f)
			file.PrefaultAll(f)
		}
		if n, err := f.WriteAt([]byte("x"), -1); n != 0 || err == nil {
			t.Errorf("mapped %v: WriteAt before the start: %d, %v", mapped, n, err)
		}
		if n, err := f.WriteAt(nil, 2*size); n != 0 || err != nil || f.Len() != size {
			t.Errorf("mapped %v: WriteAt of nothing past the end: %d, %v; %d bytes", mapped, n, err, f.Len())
		}
	}
}
