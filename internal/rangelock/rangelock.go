// Package rangelock says which writes of a file may be in progress at the same time.
//
// Invariant: a write to the mapping that may go on, by [Gate.MayMap], overlaps no other write
// in progress. Writes by system call may overlap each other: the kernel orders them. So a
// range that two calls write has the bytes of one of them, as with os.File, before, while and
// after the file is mapped.
//
// A write to the mapping is visible in part while it is in progress: to reads, and to other
// programs. Calls that wait for its locks never see a part of it: overlapping writes, copies by the kernel,
// truncations, Close, and code that is about to get the descriptor.
package rangelock

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Gate orders the writes of one File. The zero value has no locks: all writes are system
// calls, and are counted. With locks, a write holds those of its range. It may go to the
// mapping unless a counted write is in progress, which holds none. No write waits for that:
// it is a system call in its turn. A File that is not mapped for writing allocates no locks.
// Once other code has the descriptor, the gate is retired: it has no locks, and no write may
// go to the mapping.
type Gate[T any] struct {
	locks   atomic.Pointer[Locks[T]]
	counted atomic.Int32 // writes in progress that hold no lock, and the bit retired
}

const retired = 1 << 30

// Locks has one lock for each block of 64 KiB, shared by the blocks of the same hash. They
// are locked in ascending order.
type Locks[T any] struct {
	_     [lineSize]byte // the nil check of a *Locks loads the first byte, which is in no lock's cache line
	locks [1 << lockBits]Lock[T]
}

// Lock is the lock of some blocks.
type Lock[T any] struct {
	sync.Mutex
	State T        // the holder's
	_     [48]byte // with a State of 8 bytes, each lock has a cache line of its own
}

const (
	blockBits = 16 // of an offset inside a block
	lockBits  = 4
	lineSize  = 64
	all       = 1<<(1<<lockBits) - 1 // a bit for each lock
)

// Make gives the gate its locks, unless it has some or is retired. It is called before a
// mapping that may be written through is published.
func (g *Gate[T]) Make() {
	if g.isRetired() || g.locks.Load() != nil {
		return
	}
	if g.locks.CompareAndSwap(nil, new(Locks[T])); g.isRetired() {
		g.locks.Store(nil) // Retire may have missed them
	}
}

func (g *Gate[T]) isRetired() bool { return g.counted.Load()&retired != 0 }

// Locks returns the locks, or nil if there are none.
func (g *Gate[T]) Locks() *Locks[T] { return g.locks.Load() }

// Begin begins a write. If there are locks, it returns them, and the caller locks the range.
// If the result is nil, the write is a system call that holds no lock, and End ends it.
func (g *Gate[T]) Begin() *Locks[T] {
	if l := g.locks.Load(); l != nil {
		return l
	}
	g.counted.Add(1)
	l := g.locks.Load()
	if l != nil { // made meanwhile: a write to the mapping may have missed the count
		g.counted.Add(-1)
	}
	return l
}

// BeginAnywhere begins a write by system call at an offset that is not known. It waits for
// the writes that hold a lock, and makes further ones system calls until End.
func (g *Gate[T]) BeginAnywhere() {
	g.counted.Add(1)
	g.drain()
}

// End ends a write that holds no lock.
func (g *Gate[T]) End() { g.counted.Add(-1) }

// MayMap reports whether a write that holds its lock may go to the mapping.
func (g *Gate[T]) MayMap() bool { return g.counted.Load() == 0 }

// Retire drops the locks for good, before other code has the descriptor. It waits for the
// writes that hold one. When it returns, no write goes to the mapping.
func (g *Gate[T]) Retire() {
	g.counted.Or(retired)
	g.drain()
	g.locks.Store(nil)
}

// drain waits for the writes in progress that hold a lock.
func (g *Gate[T]) drain() {
	if l := g.locks.Load(); l != nil {
		l.Unlock(l.Lock(0, math.MaxInt))
	}
}

// Of returns the lock of the block at off, and whether that is the only one of n bytes there.
func (l *Locks[T]) Of(off int64, n int) (lock *Lock[T], only bool) {
	block := off >> blockBits
	return &l.locks[lockOf(block)], (off+int64(n)-1)>>blockBits == block
}

// lockOf returns the lock of a block. Blocks at a regular distance have different locks.
// Otherwise two goroutines that write the halves of a file would contend at each step.
func lockOf(block int64) uint32 {
	return uint32(block) * 0x9E3779B1 >> (32 - lockBits) // Knuth's multiplicative hashing
}

// Lock waits until no other write of n bytes at off holds a lock. The result has a bit for
// each lock, and is passed to Unlock.
func (l *Locks[T]) Lock(off int64, n int) (held uint16) {
	first, last := off>>blockBits, (off+int64(n)-1)>>blockBits
	if last-first >= 4*int64(len(l.locks)) {
		held = all
	}
	for block := first; block <= last && held != all; block++ {
		held |= 1 << lockOf(block)
	}
	for rest := held; rest != 0; rest &= rest - 1 {
		l.locks[bits.TrailingZeros16(rest)%len(l.locks)].Lock()
	}
	return held
}

// Unlock releases the locks that Lock has returned.
func (l *Locks[T]) Unlock(held uint16) {
	for ; held != 0; held &= held - 1 {
		l.locks[bits.TrailingZeros16(held)%len(l.locks)].Unlock()
	}
}

// LockAll waits for all writes that hold a lock, and keeps out further ones until UnlockAll.
// Without locks (nil) both do nothing.
func (l *Locks[T]) LockAll() {
	if l != nil {
		l.Lock(0, math.MaxInt)
	}
}

// UnlockAll undoes LockAll.
func (l *Locks[T]) UnlockAll() {
	if l != nil {
		l.Unlock(all)
	}
}
