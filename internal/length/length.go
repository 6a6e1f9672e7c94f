// Package length holds what is known of a file's length.
//
// Invariant: while no call is in flight, and if no other program has changed the file since
// the calls began, the length is not current, or [Length.Known] is the file's length. A
// change by another program is noticed by the next call that asks for the length, or that
// meets the end of the file.
//
// A call that may find out the length, or change it, has three steps. [Length.Before] comes
// first, then the system call, then what the call has found out:
//
//   - [Length.Answered]: the file's length was asked, and is this
//   - [Length.Reached]: the file has reached this offset
//   - [Length.Stale]: the end is somewhere else, and nothing tells where: after a write at the
//     kernel's offset, a write that failed, a copy by the kernel that met another end
//
// A truncation is between [Length.BeginTruncate] and [Length.EndTruncate]. The steps of
// other calls may come between those of one. If their order is not certain, the length is
// stale, and the next call that needs it asks.
package length

import (
	"math"
	"sync"
	"sync/atomic"
)

// Length is what is known of the length of one file. The zero value knows nothing.
type Length struct {
	known atomic.Int64

	// known is current if seen == gen+1. Stale increments gen. Answered sets seen to the value
	// that gen had before the question, plus 1.
	gen, seen atomic.Uint32

	mu      sync.Mutex    // held to change answers and truncs
	answers atomic.Uint32 // incremented when an answer is remembered
	truncs  atomic.Uint32 // incremented before and after each truncation: odd during one
}

// Before is what was known before a system call.
type Before struct {
	Known                int64
	gen, truncs, answers uint32
}

// Known returns the length as last known. It may be stale: a caller that relies on it needs
// another proof.
func (l *Length) Known() int64 { return l.known.Load() }

// Current reports whether Known is the length, unless another process has changed it.
func (l *Length) Current() bool { return l.seen.Load() == l.gen.Load()+1 }

// None records that the file has no length, as a device has none. From then on Known is the largest
// number, so that no write is past it.
func (l *Length) None() { l.known.Store(math.MaxInt64) }

// Stale records that the length is not known any more.
func (l *Length) Stale() { l.gen.Add(1) }

// Before returns what is known before a system call.
func (l *Length) Before() Before {
	was := Before{gen: l.gen.Load(), truncs: l.truncs.Load(), answers: l.answers.Load()}
	was.Known = l.known.Load() // last: a change of it fails Answered
	return was
}

// Answered records size, which was the length at some time since was. If another call has
// changed the length meanwhile, nothing tells which is newer, and the length is stale.
func (l *Length) Answered(was Before, size int64) {
	if size == was.Known && l.Current() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Counters, since the length may have returned to an earlier value.
	if l.truncatedSince(was) || l.answers.Load() != was.answers || !l.known.CompareAndSwap(was.Known, size) {
		l.Stale()
		return
	}
	l.answers.Add(1)
	if size < was.Known {
		// Another program has truncated the file. A write that ended before this may have
		// extended it since, and has not noticed: it was inside the longer file.
		l.Stale()
		return
	}
	l.seen.Store(was.gen + 1)
}

// Reached records that the file has reached end at some time since was.
func (l *Length) Reached(was Before, end int64) {
	if end > l.known.Load() {
		l.raise(was, end)
	}
}

func (l *Length) raise(was Before, end int64) {
	for known := l.known.Load(); known < end && !l.known.CompareAndSwap(known, end); {
		known = l.known.Load()
	}
	if l.truncatedSince(was) || l.answers.Load() != was.answers {
		l.Stale() // which came first, the end or the truncation, which may be another program's?
	}
}

// truncatedSince reports whether a truncation was in progress at was or later.
func (l *Length) truncatedSince(was Before) bool {
	return was.truncs%2 != 0 || l.truncs.Load() != was.truncs
}

// BeginTruncate begins a truncation to size, and publishes size if it is less, so that no
// call relies on bytes that are gone. It returns the length known before. Truncations must
// not overlap.
func (l *Length) BeginTruncate(size int64) (old int64) {
	l.countTruncation()
	old = l.known.Load()
	if 0 <= size && size < old {
		l.known.Store(size)
	}
	return old
}

// EndTruncate ends a truncation to size. ok says whether it succeeded, and old is the result
// of BeginTruncate.
func (l *Length) EndTruncate(old, size int64, ok bool) {
	if ok {
		l.known.Store(size) // a write past the end meanwhile has made it stale
	} else {
		l.known.Store(old)
		l.Stale()
	}
	l.countTruncation()
}

// countTruncation waits for Answered, which must not set an earlier length after the end.
func (l *Length) countTruncation() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.truncs.Add(1)
}
