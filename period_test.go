package mmapfile

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeriod_Length(t *testing.T) {
	if periodLasts > 50*time.Millisecond {
		t.Errorf("it lasts %v", periodLasts)
	}
}

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
		f.periodTime.Store(1)
		f.periodMu.Lock() // as the timer does
		if !after(func() { do(f) }, f.periodMu.Unlock) {
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
	locks := f.m.Load().locks
	held := locks.lock(0, 1)
	if !after(func() { f.Write([]byte("cursor")) }, func() { locks.unlock(held) }) {
		t.Error("it does not wait for a mapped write")
	}
}

// A period does not begin with a time that the end of the one before has not set yet.
func TestWriteAt_FirstWaitsForPeriodEnd(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	f.endPeriod()
	f.periodMu.Lock() // as the timer does
	if !after(func() { f.WriteAt([]byte("first"), 100) }, f.periodMu.Unlock) {
		t.Error("it does not wait for the end of the period before")
	}
}

// A period that ends during a mapped write leaves a time. The next period knows it, and does
// not take it for one that a program has set.
func TestPeriod_EndsDuringWrite(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	f.endPeriod()
	f.periodTime.Store(1)
	f.noteMappedWrite()
	fi, err := f.inner.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.periodTime.Load(), fi.ModTime().UnixNano(); got != want {
		t.Errorf("the time of the period is %d, want %d", got, want)
	}
}

// Truncate waits for the writes of a mapping that is published while it waits.
func TestTruncate_WaitsForNewMapping(t *testing.T) {
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
		if size := f.length.Known(); size != 1<<20 {
			t.Errorf("truncated to %d beside a mapped write", size)
		}
		m.locks.unlock(held)
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
	for f.periodEnd.Load() != 0 {
		runtime.Gosched()
	}
	prefaultAll(f.file)
	synctest.Test(t, func(t *testing.T) {
		for range 10 {
			if _, err := f.WriteAt([]byte("in the bubble"), 100); err != nil {
				t.Fatal(err)
			}
		}
	})
	if f.periodEnd.Load() == 0 || f.period.Load() != periodMapped {
		t.Skip("no mapped write in the bubble")
	}
	for range timeEvery {
		if _, err := f.WriteAt([]byte("after it"), 100); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); f.period.Load() != noPeriod; runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the period never ends")
		}
	}
}

// If a descriptor gets O_APPEND while a long write begins a period, the write appends all bytes.
func TestWriteAt_LongBesideDescriptor(t *testing.T) {
	t.Parallel()
	f := readyFile(t, 1<<20)
	b := bytes.Repeat([]byte{7}, 3*firstWhole)
	f.cur.GiveUp(f.inner)
	if !f.writeFirst(f.m.Load(), &f.m.Load().locks[0], b, 4096) {
		t.Fatal("the write failed")
	}
	if f.period.Load() == periodMapped {
		t.Error("the rest was a mapped write, but the first page may have been appended")
	}
	if got := f.Bytes()[4096:][:len(b)]; !bytes.Equal(got, b) {
		t.Error("the file has other bytes")
	}
}
