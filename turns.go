package mmapfile

import (
	"math/bits"
	"sync"
)

// turns makes writes of one File that overlap come one after the other, as the
// kernel's lock on the inode does for os.File: a page that two goroutines write
// as a whole is either's, never a mixture. Readers take no part, as there.
// Each 64 KiB of the file has one of the locks.
type turns [turnLocks]struct {
	sync.Mutex
	// Under it, for the policy: beside the lock, they cost nothing.
	stores uint32
	calls  uint32
	saved  uint32              // by stores
	_      [lineSize - 20]byte // each in a cache line of its own
}

const turnLocks = 16

// take waits for the turn of a write of n bytes at off. The result, which
// goes to give, has a bit for each lock.
func (t *turns) take(off int64, n int) (held uint16) {
	first, last := off>>regionShift, (off+int64(n)-1)>>regionShift
	if first == last {
		t[first%turnLocks].Lock()
		return 1 << (first % turnLocks)
	}
	for r := first; r <= last && r < first+turnLocks; r++ {
		held |= 1 << (r % turnLocks)
	}
	for i := range t { // always in this order
		if held>>i&1 != 0 {
			t[i].Lock()
		}
	}
	return held
}

// store counts a store of n bytes, and reports whether it is one to be timed.
func (t *turns) store(held uint16, n int) bool {
	slot := &t[bits.TrailingZeros16(held)]
	slot.stores++
	slot.saved += saves(n)
	return slot.stores%sampleStores == 0
}

// call counts a small write by pwrite, and reports whether it is one to be timed.
func (t *turns) call(held uint16) bool {
	slot := &t[bits.TrailingZeros16(held)]
	slot.calls++
	return slot.calls%sampleCalls == 0
}

// takeSaved is what stores have saved since the last time. Whoever writes now
// keeps it for the next.
func (t *turns) takeSaved() (saved uint32) {
	for i := range t {
		if t[i].TryLock() {
			saved += t[i].saved
			t[i].saved = 0
			t[i].Unlock()
		}
	}
	return saved
}

func (t *turns) give(held uint16) {
	for i := 0; held != 0; i, held = i+1, held>>1 {
		if held&1 != 0 {
			t[i].Unlock()
		}
	}
}
