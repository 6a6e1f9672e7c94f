package file

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/race"
)

// after reports whether do waits for release. It gives do some time first, so a slow do may
// look like one that waits.
func after(do, release func()) (waits bool) {
	var released atomic.Bool
	waited := make(chan bool)
	go func() {
		do()
		waited <- released.Load()
	}()
	for range 10_000 {
		runtime.Gosched()
	}
	released.Store(true)
	release()
	return <-waited
}

// A timer that marks the file as modified does not run after Close, Stat or Sync, when a
// program may set the time.
func TestClose_WaitsForPeriodEnd(t *testing.T) {
	t.Parallel()
	for _, do := range []func(f *File){
		func(f *File) { f.Close() }, func(f *File) { f.Stat() }, func(f *File) { f.Sync() },
	} {
		f := readyFile(t, 1<<20)
		f.needCold().mtime.Begin(f.modified(), 0)
		if !after(func() { do(f) }, f.needCold().mtime.Hold()) { // as the timer does
			t.Error("it does not wait for the end of the period")
		}
	}
}

// A write at the kernel's offset, where a copy has it, is serialized with mapped writes.
func TestWrite_WaitsForMappedWrite(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	counted := f.cur.Enter(f.inner)
	defer f.cur.Leave(counted, 0)
	locks := f.writes.Locks()
	held := locks.Lock(0, 1)
	if !after(func() { f.Write([]byte("cursor")) }, func() { locks.Unlock(held) }) {
		t.Error("it does not wait for a mapped write")
	}
}

// A period does not begin with a time that the end of the one before has not set yet.
func TestWriteAt_FirstWaitsForPeriodEnd(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	f.endPeriod()
	if !after(func() { f.WriteAt([]byte("first"), 100) }, f.needCold().mtime.Hold()) { // as the timer does
		t.Error("it does not wait for the end of the period before")
	}
}

// Truncate waits for a mapped write whose locks were made while Truncate waited.
func TestTruncate_WaitsForNewLocks(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 1<<20)
	if f.writes.Locks() != nil {
		t.Fatal("locks before there is a mapping")
	}
	f.length.Answered(f.length.Before(), 1<<20)
	f.mu.Lock()
	var locks *rangeLocks
	held := uint16(0)
	if !after(func() {
		if err := f.Truncate(1000); err != nil {
			t.Error(err)
		}
	}, func() {
		f.writes.Make()
		locks = f.writes.Locks()
		held = locks.Lock(0, 1)
		f.mu.Unlock()
		for range 10_000 {
			runtime.Gosched()
		}
		if size := f.length.Known(); size != 1<<20 {
			t.Errorf("truncated to %d beside a mapped write", size)
		}
		locks.Unlock(held)
	}) {
		t.Error("it does not wait")
	}
}

// The timers of a testing/synctest bubble end with it. The periods of a File that was used
// in the bubble end nevertheless.
func TestWriteAt_PeriodAfterSynctest(t *testing.T) {
	f := readyFile(t, 1<<20)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	for f.needCold().mtime.State().Timed {
		runtime.Gosched()
	}
	prefaultAll(f)
	synctest.Test(t, func(t *testing.T) {
		for range 10 {
			if _, err := f.WriteAt([]byte("in the bubble"), 100); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !f.needCold().mtime.State().Timed || !f.needCold().mtime.State().Mapped {
		t.Skip("no mapped write in the bubble")
	}
	for range pages.TimeEvery {
		if _, err := f.WriteAt([]byte("after it"), 100); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); f.needCold().mtime.Active(); runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the period never ends")
		}
	}
}

// A write that began before the file was mapped holds no lock. Until it ends, no write goes to
// the mapping.
func TestWriteAt_BeganBeforeMapping(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*pages.BlockSize)
	write := func() (mapped bool) {
		if f.Bytes() == nil || !f.m.Load().writes {
			t.Fatal("not mapped")
		}
		prefaultAll(f)
		return mapsWrites(f, func() {
			if n, err := f.WriteAt([]byte("second"), 100); n != 6 || err != nil {
				t.Error(n, err)
			}
		})
	}
	if n, err := WriteLate(f, []byte("first!"), 100, func() {
		if write() {
			t.Error("a mapped write beside one that holds no lock")
		}
	}); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	if got := string(f.Bytes()[100:106]); got != "first!" {
		t.Errorf("%q, and the write that ended last wrote %q", got, "first!")
	}
	if !write() {
		t.Error("no write is mapped after it")
	}
}

// Whatever hands out the descriptor, a copy by the kernel, and Close wait for a mapped write in
// flight. Otherwise the bytes of two writes mix, or a part of one is in the file.
func TestWriteAt_MappedInFlight(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(f *File){
		"Fd":    func(f *File) { f.Fd() },
		"OS":    func(f *File) { f.OS() },
		"Close": func(f *File) { f.Close() },
		"SyscallConn": func(f *File) {
			c, err := f.SyscallConn()
			if err == nil {
				err = c.Control(func(uintptr) {})
			}
			if err != nil {
				t.Error(err)
			}
		},
		"ReadFrom": func(f *File) {
			src, err := os.Open(f.Name())
			if err != nil {
				t.Error(err)
				return
			}
			defer src.Close()
			if _, err := f.ReadFrom(&io.LimitedReader{R: src, N: 10}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readyFile(t, 1<<20)
			locks := f.writes.Locks()
			held := locks.Lock(500_000, 1) // as a mapped write does
			if !after(func() { do(f) }, func() { locks.Unlock(held) }) {
				t.Error("it does not wait")
			}
		})
	}
}

// A mapped write that faults is repeated with its lock held, so that what waits for mapped writes
// waits for the whole of it.
func TestWriteAt_FaultHoldsTheLock(t *testing.T) {
	t.Parallel()
	const off = 500_000
	for name, do := range map[string]func(f *File){
		"Close":    func(f *File) { f.Close() },
		"Truncate": func(f *File) { f.Truncate(off + 3) },
	} {
		f := readyFile(t, 1<<20)
		prefaultAll(f)
		f.needCold().mtime.Start()
		if err := os.Truncate(f.Name(), 100); err != nil { // as another process does
			t.Fatal(err)
		}
		done, faults := make(chan bool), guard.Faults.Load()
		n, err := WriteLate(f, []byte("whole"), off, func() {
			if l, _ := f.writes.Locks().Of(off, 1); l.TryLock() {
				t.Errorf("%s: the range is not locked", name)
				l.Unlock()
			}
			go func() { do(f); close(done) }()
		})
		if n != 5 || err != nil || guard.Faults.Load() == faults {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		<-done
		b, err := os.ReadFile(f.Name())
		if want := map[string]string{"Close": "whole", "Truncate": "who"}[name]; err != nil || string(b[off:]) != want {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// The kernel refuses what no file has.
func TestWriteAt_MappedAtLargeOffsets(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	prefaultAll(f)
	f.needCold().mtime.Start()
	b := make([]byte, 100)
	for _, off := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 99, math.MaxInt64 - 100, math.MaxInt64 - 5000, 1<<63 - 1<<16} {
		n, err := f.WriteAt(b, off)
		want, werr := f.inner.WriteAt(b, off)
		if n != want || err == nil || err.Error() != werr.Error() {
			t.Errorf("at %d: %d, %v; os.File has %d, %v", off, n, err, want, werr)
		}
	}
}

// connReader is a Reader that the kernel may copy from, and calls fn first.
type connReader struct {
	syscall.Conn
	io.Reader
	fn func()
}

func (r *connReader) Read(b []byte) (int, error) {
	if r.fn != nil {
		r.fn()
		r.fn = nil
	}
	return r.Reader.Read(b)
}

// While the kernel copies to a File, no write goes to the mapping.
func TestReadFrom_NoMappedWriteBeside(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	write := func() bool {
		prefaultAll(f)
		return mapsWrites(f, func() { f.WriteAt([]byte("beside"), 5) })
	}
	r := &connReader{f, strings.NewReader("copied to the file"), func() {
		if write() {
			t.Error("a mapped write beside a copy by the kernel")
		}
	}}
	if n, err := f.ReadFrom(r); n != 18 || err != nil {
		t.Fatal(n, err)
	}
	if !write() {
		t.Error("no write is mapped after it")
	}
}

// A write beside Close is in the file whole or not at all, and its result says which.
func TestWriteAt_WholeBesideClose(t *testing.T) {
	t.Parallel()
	const size, n = 2 << 20, 3 << 19
	old, b := bytes.Repeat([]byte("o"), size), bytes.Repeat([]byte("n"), n)
	for range 10 { // each keeps its address space for a while
		f, m := mappedFile(t, size)
		if !m.writes {
			t.Skip("no write is mapped here")
		}
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		prefaultAll(f)
		f.needCold().mtime.Start()
		done := make(chan error, 1)
		go func() {
			_, err := f.WriteAt(b, 100)
			done <- err
		}()
		p := (*uint32)(unsafe.Pointer(&m.data[104]))
		for before := race.LoadWord(p); race.LoadWord(p) == before && len(done) == 0; { // it has not begun
			runtime.Gosched()
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		err := <-done
		got, rerr := os.ReadFile(f.Name())
		if rerr != nil {
			t.Fatal(rerr)
		}
		want := old
		if err == nil {
			want = slices.Concat(old[:100], b, old[100+n:])
		} else if !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("the write returned %v, and %d of %d bytes are in the file", err, bytes.Count(got, []byte("n")), n)
		}
	}
}

// Once the descriptor was handed out, Close and Fd do not wait for a write that the system blocks,
// as one to a frozen file system.
func TestClose_BesideBlockedWrite(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *File){
		"Close": func(f *File) { f.Close() },
		"Fd":    func(f *File) { f.Fd() },
		"Write": func(f *File) { f.Write([]byte("x")) },
	} {
		f := readyFile(t, 1<<20)
		f.OS()
		block, in, done := make(chan bool), make(chan bool), make(chan bool)
		go func() {
			WriteLate(f, []byte("x"), 0, func() { close(in); <-block })
			done <- true
		}()
		<-in
		go func() { end(f); done <- true }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Errorf("%s waits for the write", name)
		}
		close(block)
		<-done
	}
}

// A write that has the locks from before the descriptor was handed out does not go to the mapping.
func TestFd_LateWriteIsNotMapped(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	write := func(locks *rangeLocks) bool {
		prefaultAll(f)
		return mapsWrites(f, func() {
			if n, err := f.writeBegun(locks, []byte("late"), 100); n != 4 || err != nil {
				t.Error(n, err)
			}
		})
	}
	locks := f.writes.Begin()
	if !write(locks) {
		t.Fatal("no write is mapped before")
	}
	f.Fd()
	if write(locks) {
		t.Error("a write is mapped after Fd")
	}
}

// The kernel gets the cursor once no mapped write is in flight: a Write that finds it there does
// not look for one.
func TestFd_CursorAfterMappedWrites(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	locks := f.writes.Locks()
	held := locks.Lock(0, 1) // as a mapped write does
	if !after(func() { f.Fd() }, func() {
		if f.cur.Shared() {
			t.Error("the kernel has the cursor beside a mapped write")
		}
		locks.Unlock(held)
	}) {
		t.Error("it does not wait")
	}
}

// A Write that has failed is repeated at the kernel's offset, as a write that holds no lock.
func TestWrite_AgainWaitsForMappedWrite(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	other, _ := mappedFile(t, 1)
	gone := other.Bytes() // which no system call can read, so both writes fail
	other.Close()
	locks, off := f.writes.Locks(), int64(0)
	for first, _ := locks.Of(0, 1); ; {
		off += pages.BlockSize
		if lock, _ := locks.Of(off, 1); lock != first {
			break
		}
	}
	held := locks.Lock(off, 1)
	if !after(func() {
		if n, err := f.Write(gone); n != 0 || err == nil {
			t.Error(n, err)
		}
	}, func() { locks.Unlock(held) }) {
		t.Error("it does not wait")
	}
}

// Other code has the descriptor of a File from New, so that a write that the system blocks blocks
// nothing.
func TestNew_NoLocks(t *testing.T) {
	t.Parallel()
	_, m := mappedFile(t, 1<<20)
	if !m.writes {
		t.Skip("no write is mapped here")
	}
	name := filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := opened(inner, -1)
	defer f.Close()
	if f.Bytes() == nil || f.writes.Locks() != nil {
		t.Error("not mapped, or with locks")
	}
}

// Advice is not given once a descriptor is about to be handed out.
func TestFd_NoOrderFromThenOn(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 1)
	f.endReadOrder()
	if f.readInOrder(true); f.needCold().order.on.Load() {
		t.Error("advice is given")
	}
}

// Two locks in one cache line would have writers of different blocks wait for each other's.
func TestLocks_CacheLines(t *testing.T) {
	t.Parallel()
	if n := unsafe.Sizeof(rangeLock{}); n != lineSize {
		t.Errorf("a lock has %d bytes", n)
	}
}
