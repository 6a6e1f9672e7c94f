package mmapfile

import (
	"math"
	"math/bits"
	"sync"

	"go.dw1.io/mmapfile/internal/pages"
)

// rangeLocks orders overlapping writes of one File, as the kernel's inode lock does for
// os.File. A range that two goroutines write has the bytes of one of them, never a mixture.
// A truncation takes all locks. Readers take none, as with os.File. Each block of 64 KiB
// maps to one lock.
type rangeLocks [1 << lockBits]rangeLock

type rangeLock struct {
	sync.Mutex
	writes, slow uint32              // mapped writes since the last Sync, under the lock: see timedStore
	_            [lineSize - 16]byte // each in a cache line of its own
}

const lockBits = 4

// lockOf returns the lock of a block. Blocks at a regular distance have different locks.
// Otherwise two goroutines that write the halves of a file would contend at each step.
func lockOf(block int64) uint32 {
	return uint32(block) * 0x9E3779B1 >> (32 - lockBits) // Knuth's multiplicative hashing
}

// lock waits until no other write of n bytes at off is in progress. The result has a bit
// for each lock, and is passed to unlock.
func (l *rangeLocks) lock(off int64, n int) (held uint16) {
	first, last := off>>pages.BlockBits, (off+int64(n)-1)>>pages.BlockBits
	if last-first >= 4*int64(len(l)) {
		held = 1<<len(l) - 1
	}
	for block := first; block <= last && held != 1<<len(l)-1; block++ {
		held |= 1 << lockOf(block)
	}
	for rest := held; rest != 0; rest &= rest - 1 {
		l[bits.TrailingZeros16(rest)%len(l)].Lock()
	}
	return held
}

// takeWrites returns the number of mapped writes since the last call. Those in progress are
// left to the next call.
func (l *rangeLocks) takeWrites() (n int64) {
	for i := range l {
		if l[i].TryLock() {
			n += int64(l[i].writes)
			l[i].writes = 0
			l[i].Unlock()
		}
	}
	return n
}

// lockWrites waits until no mapped write of f is in progress, and takes mu. The results are
// passed to unlockWrites.
func (f *file) lockWrites() (l *rangeLocks, held uint16) {
	for {
		l, held = nil, 0
		if m := f.m.Load(); m != nil && m.locks != nil {
			l = m.locks
			held = l.lock(0, math.MaxInt)
		}
		f.mu.Lock()
		if m := f.m.Load(); m == nil || m.locks == l {
			return l, held
		}
		f.unlockWrites(l, held) // it was mapped meanwhile
	}
}

func (f *file) unlockWrites(l *rangeLocks, held uint16) {
	f.mu.Unlock()
	l.unlock(held)
}

func (l *rangeLocks) unlock(held uint16) {
	for ; held != 0; held &= held - 1 {
		l[bits.TrailingZeros16(held)%len(l)].Unlock()
	}
}
