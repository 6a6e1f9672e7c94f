package rangelock

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

func TestGate_WithoutLocks(t *testing.T) {
	t.Parallel()
	var g Gate[state]
	if g.Begin() != nil || g.MayMap() {
		t.Error("a write without a lock is not counted")
	}
	g.Make()
	l := g.Locks()
	if g.Make(); l == nil || g.Locks() != l {
		t.Error("the locks are made twice")
	}
	if g.Begin() != l || g.MayMap() {
		t.Error("the write that was counted before is forgotten")
	}
	g.End()
	if !g.MayMap() {
		t.Error("a write that holds its lock is counted")
	}
	(*Locks[state])(nil).LockAll()
	(*Locks[state])(nil).UnlockAll()
}

func TestBeginAnywhere_WaitsForLocks(t *testing.T) {
	t.Parallel()
	var g Gate[state]
	g.Make()
	l := g.Locks()
	held := l.Lock(1<<30, 100)
	var begun atomic.Bool
	done := make(chan bool)
	go func() {
		g.BeginAnywhere()
		begun.Store(true)
		close(done)
	}()
	for g.MayMap() {
		runtime.Gosched() // it is counted before it waits
	}
	for range 1000 {
		runtime.Gosched()
	}
	if begun.Load() {
		t.Error("it does not wait")
	}
	l.Unlock(held)
	<-done
	if g.MayMap() {
		t.Error("a write may be mapped beside it")
	}
	if g.End(); !g.MayMap() {
		t.Error("its end is not counted")
	}
}

// Once the locks are dropped, nothing waits for a write.
func TestRetire_NothingWaits(t *testing.T) {
	t.Parallel()
	var g Gate[state]
	g.Make()
	late := g.Begin() // has the locks, and not yet one of them
	g.Retire()
	held := late.Lock(0, 1)
	if g.MayMap() {
		t.Error("a write that has had the locks before may go to the mapping")
	}
	g.BeginAnywhere()
	g.End()
	g.Locks().LockAll()
	g.Locks().UnlockAll()
	late.Unlock(held)
	g.Retire()
	g.Make() // of a mapping that was on its way
	if g.Begin() != nil {
		t.Error("a write after it holds a lock")
	}
	if g.End(); g.MayMap() {
		t.Error("a write may go to the mapping again")
	}
}

// together runs both functions at the same moment, or as near as the processors allow, b later by
// some loads.
func together(later int, a, b func()) {
	var ready atomic.Int32
	var all sync.WaitGroup
	begin := func(loads int) {
		ready.Add(1)
		for looks := 1; ready.Load() < 2; looks++ {
			if looks%100 == 0 { // the other one may have no processor
				runtime.Gosched()
			}
		}
		for range loads {
			ready.Load()
		}
	}
	all.Go(func() { begin(0); a() })
	all.Go(func() { begin(later); b() })
	all.Wait()
}

// Locks may be made in the middle of Begin.
func TestBegin_BesideMake(t *testing.T) {
	t.Parallel()
	for i := range 20_000 {
		var g Gate[state]
		var calling, mapping atomic.Bool
		together(i%300, func() {
			for range 500 {
				if g.Begin() != nil {
					return
				}
				if calling.Store(true); mapping.Load() {
					t.Error("a write holds no lock beside a mapped one")
				}
				calling.Store(false)
				g.End()
			}
		}, func() {
			if g.Make(); !g.MayMap() {
				return
			}
			mapping.Store(true)
			for range 100 {
				if calling.Load() {
					t.Error("a write is mapped beside one that holds no lock")
				}
			}
			mapping.Store(false)
		})
		if !g.MayMap() {
			t.Fatal("a write that has the locks is counted")
		}
	}
}

// Locks that are made beside Retire do not stay.
func TestRetire_BesideMake(t *testing.T) {
	t.Parallel()
	for i := range 20_000 {
		var g Gate[state]
		if together(i%500, g.Make, g.Retire); g.Locks() != nil {
			t.Fatal("there are locks")
		}
	}
}

// Ranges that overlap share a lock, and a range of any length has all locks of its blocks.
type state [8]byte

func TestLocks_Ranges(t *testing.T) {
	t.Parallel()
	var l Locks[state]
	for _, c := range []struct {
		off int64
		n   int
	}{{0, 1}, {1<<blockBits - 1, 2}, {5 << blockBits, 3 << blockBits}, {0, math.MaxInt}, {1 << 50, 100}} {
		held := l.Lock(c.off, c.n)
		for at := c.off; at < c.off+min(int64(c.n), 100<<blockBits); at += 1 << blockBits {
			lock, _ := l.Of(at, 1)
			if lock.TryLock() {
				t.Errorf("%d bytes at %d: the block at %d is not locked", c.n, c.off, at)
				lock.Unlock()
			}
		}
		l.Unlock(held)
		for i := range l.locks {
			if !l.locks[i].TryLock() {
				t.Fatalf("%d bytes at %d: lock %d is not released", c.n, c.off, i)
			}
			l.locks[i].Unlock()
		}
	}
	if _, only := l.Of(1<<blockBits-1, 2); only {
		t.Error("a range over two blocks has one lock")
	}
	if size, first := unsafe.Sizeof(l.locks[0]), unsafe.Offsetof(l.locks); size != lineSize || first < lineSize {
		t.Errorf("a lock has %d bytes, and the first is %d bytes from what each nil check loads", size, first)
	}
}

// Writes that may go to the mapping overlap no other write, while locks are made and copies by
// the kernel run. cells are the bytes of a file: a mapped write is two stores, a system call one.
func TestGate_Storm(t *testing.T) {
	t.Parallel()
	for range 200 {
		var g Gate[state]
		var kernel sync.Mutex
		var mapping, calls atomic.Int32
		var all sync.WaitGroup
		call := func() {
			calls.Add(1)
			kernel.Lock()
			if mapping.Load() > 0 {
				t.Error("a write by system call beside a mapped one")
			}
			kernel.Unlock()
			calls.Add(-1)
		}
		for i := range 4 {
			all.Go(func() {
				for j := range 30 {
					switch {
					case i == 0 && j == 10:
						g.Make()
					case i == 1 && j%7 == 0:
						g.BeginAnywhere()
						call()
						g.End()
					default:
						l := g.Begin()
						if l == nil {
							call()
							g.End()
							continue
						}
						held := l.Lock(100, 10)
						if g.MayMap() {
							mapping.Add(1)
							if calls.Load() > 0 {
								t.Error("a mapped write beside a system call")
							}
							runtime.Gosched()
							mapping.Add(-1)
						} else {
							call()
						}
						l.Unlock(held)
					}
				}
			})
		}
		all.Wait()
		if !g.MayMap() {
			t.Fatal("a write is counted for ever")
		}
	}
}
