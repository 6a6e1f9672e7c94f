package mmapfile

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeriod_IsHalfOfWhatIsPromised(t *testing.T) {
	if periodLasts > 50*time.Millisecond {
		t.Errorf("it lasts %v", periodLasts)
	}
}

// after reports whether do waits for what release ends. It cannot tell that do is slow, and
// waits for it a while.
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

// A timer that is marking the file as modified must not do so after Close or Stat, when a
// program sets the time.
func TestClose_WaitsForThePeriodToEnd(t *testing.T) {
	t.Parallel()
	for _, do := range []func(f *File){
		func(f *File) { f.Close() }, func(f *File) { f.Stat() }, func(f *File) { f.Sync() },
	} {
		f := readyFile(t, 1<<20)
		f.before.Store(1)
		f.ending.Lock() // as the timer does
		if !after(func() { do(f) }, f.ending.Unlock) {
			t.Error("it does not wait")
		}
	}
}

// A mapping that comes while Truncate waits is one whose writes it waits for.
func TestTruncate_WaitsForWritesOfANewMapping(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	m := f.m.Load()
	f.mu.Lock()
	f.m.Store(nil)
	held := uint16(0)
	if !after(func() {
		if err := f.Truncate(1000); err != nil {
			t.Error(err)
		}
	}, func() {
		f.m.Store(m)
		held = m.locks.lock(0, 1)
		f.mu.Unlock()
		for range 10_000 {
			runtime.Gosched()
		}
		if size := f.size.Load(); size != 1<<20 {
			t.Errorf("truncated to %d beside a mapped write", size)
		}
		m.locks.unlock(held)
	}) {
		t.Error("it does not wait")
	}
}

// A File that is used in a bubble of testing/synctest, whose timers end with it, has its
// periods end after that.
func TestWriteAt_PeriodsEndAfterASynctestBubble(t *testing.T) {
	f := readyFile(t, 1<<20)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	for f.due.Load() != 0 {
		runtime.Gosched()
	}
	makeReady(f.file, 0)
	synctest.Test(t, func(t *testing.T) {
		for range 10 {
			if _, err := f.WriteAt([]byte("in the bubble"), 100); err != nil {
				t.Fatal(err)
			}
		}
	})
	if f.due.Load() == 0 || f.dirty.Load() != stored {
		t.Skip("no mapped write in the bubble")
	}
	for range timeEvery {
		if _, err := f.WriteAt([]byte("after it"), 100); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); f.dirty.Load() != clean; runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the period never ends")
		}
	}
}

// A descriptor that has come to append while a long write begins a period appends all of it.
func TestWriteAt_LongOneBesideAHandedOutDescriptor(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	b := bytes.Repeat([]byte{7}, 3*firstWhole)
	f.cur.giveUp(f.inner)
	n, err := f.writeFirst(f.m.Load(), &f.m.Load().locks[0], b, 4096)
	if n != len(b) || err != nil {
		t.Fatal(n, err)
	}
	if f.dirty.Load() == stored {
		t.Error("the rest is a mapped write, and the first page may be elsewhere")
	}
	if got := f.Bytes()[4096:][:len(b)]; !bytes.Equal(got, b) {
		t.Error("the file has something else")
	}
}
