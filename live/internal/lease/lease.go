// Package lease replaces a version while others use it, and frees it after its last user.
//
// Invariant: a version is freed once, after it was replaced and after every user that Enter has
// given it to has left.
//
// A user adds to one counter of the version and then looks again whether the version is still
// current. If not, it takes back what it added and tries the next version. So if the second look
// succeeds, the user is in its counter before the version is replaced. A version becomes current
// once and is never current again, so no user comes after that: a counter that is zero then has
// no user, and never will. This is why the counters can be read one after the other, although
// their sum is not read at one moment. It needs that a user leaves by the counter by which it
// entered: then none is negative, and no user moves to one that was read before.
//
// The version is also freed at last. Only those that found it current before it was replaced
// still add to a counter, each once. The last of all subtractions, or the replacement itself if
// it comes later, finds all counters zero and the version replaced. Several may find that. A
// compare-and-swap lets one of them free the version.
package lease

import (
	"sync/atomic"
	"unsafe"
)

const (
	// counters for each version. With fewer, goroutines on different cores share one more
	// often; each makes a version larger, and replacing it slower.
	counters = 16
	// line is at least the length of a cache line, or of the pair that a processor fetches.
	line = 128
)

// Version is what users share. It must not be copied, and becomes current once.
type Version[V any] struct {
	Value V

	freed atomic.Bool
	_     [line]byte // users change the counters, and only read what is above
	users [counters]struct {
		n atomic.Int32
		_ [line - 4]byte
	}
}

// Current is the version that users get. The zero value has none.
type Current[V any] struct {
	// Free gets each version once that was replaced and is not used any more. It runs on the
	// goroutine of the last user or of Replace, and must not wait.
	Free func(v *Version[V])

	version atomic.Pointer[Version[V]]
}

// Enter returns the current version, which is not freed before Leave, and the counter that Leave
// needs. It returns nil if there is none.
func (c *Current[V]) Enter() (v *Version[V], counter int) {
	var here byte
	// Goroutines have stacks of their own, of 2 KiB at least. Multiplying by the golden ratio
	// gives those that lie side by side different counters.
	counter = int(uint64(uintptr(unsafe.Pointer(&here))) >> 11 * 0x9E3779B97F4A7C15 >> 60)
	for {
		v = c.version.Load()
		if v == nil {
			return nil, 0
		}
		v.users[counter].n.Add(1)
		if c.version.Load() == v {
			return v, counter
		}
		c.Leave(v, counter)
	}
}

// Leave ends what Enter began.
func (c *Current[V]) Leave(v *Version[V], counter int) {
	v.users[counter].n.Add(-1)
	if c.version.Load() != v {
		c.freeUnused(v)
	}
}

// Replace makes next current if old is, and reports whether it did. Either may be nil: none.
func (c *Current[V]) Replace(old, next *Version[V]) bool {
	if !c.version.CompareAndSwap(old, next) {
		return false
	}
	if old != nil {
		c.freeUnused(old)
	}
	return true
}

// End makes none current, for good if no Replace(nil, next) follows.
func (c *Current[V]) End() {
	if old := c.version.Swap(nil); old != nil {
		c.freeUnused(old)
	}
}

// freeUnused frees v, which was replaced, unless it has users or is freed already.
func (c *Current[V]) freeUnused(v *Version[V]) {
	for i := range v.users {
		if v.users[i].n.Load() != 0 {
			return
		}
	}
	if v.freed.CompareAndSwap(false, true) {
		c.Free(v)
	}
}
