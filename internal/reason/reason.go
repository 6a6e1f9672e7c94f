// Package reason counts system calls by why no mapping served them. Each call has one reason, which is derived after it.
//
// The counts of a file move to those of the process in groups, so that many calls share a cache miss, and the rest once
// the file is closed.
package reason

import "sync/atomic"

// A Reason says why a call was a system call.
type Reason int

// The reasons that mmapfile.SystemCalls names.
const (
	First Reason = iota
	Unseen
	Unmapped
	Seldom
	Unpaid
	Unproven
	Slower
	PastEnd
	HandedOut
	Storage
	Unmappable
	reasons

	None Reason = -1 // what is known of the pages tells
)

// Group is the number of calls that a file has at first, and of those that it moves to the process at once.
const Group = 32

// Counts are numbers of system calls by their reasons.
type Counts [reasons]uint64

// process has the calls of the process, but for those that files have not moved yet.
var process [reasons]atomic.Uint64

// OfProcess returns the calls of the process.
func OfProcess() (c Counts) {
	for why := range c {
		c[why] = process[why].Load()
	}
	return c
}

// Counter counts the calls of a file. A nil Counter has none.
type Counter [reasons]atomic.Uint64

// closed is set in each count once the process has it, so that calls which end later move none of it again.
const closed = 1 << 63

// Add counts n calls.
func (c *Counter) Add(why Reason, n uint64) {
	after := c[why].Add(n)
	if groups := after/Group - (after-n)/Group; groups > 0 && after < closed {
		process[why].Add(groups * Group)
	}
}

// AddUnrecorded counts n calls that were not recorded. rest is why, for those after the first ones of the file.
func (c *Counter) AddUnrecorded(n uint64, rest Reason) {
	counts := c.Counts()
	first := counts.first(n)
	c.Add(First, first)
	c.Add(rest, n-first)
}

// first returns how many of n calls that were not recorded are the first ones of the file.
func (c *Counts) first(n uint64) uint64 {
	if c[First] == 0 {
		return min(n, Group)
	}
	return 0
}

// Counts returns the counts.
func (c *Counter) Counts() (all Counts) {
	if c != nil {
		for why := range all {
			all[why] = c[why].Load() &^ closed
		}
	}
	return all
}

// With returns the counts as they are after AddUnrecorded.
func (c Counts) With(n uint64, rest Reason) Counts {
	first := c.first(n)
	c[First] += first
	c[rest] += n - first
	return c
}

// Close moves the counts, and n calls that were not recorded, to the process, but for what it has already. It is called once.
func (c *Counter) Close(n uint64, rest Reason) {
	var has Counts
	if c != nil {
		for why := range has {
			has[why] = c[why].Or(closed)
		}
	}
	for why, n := range has.With(n, rest) {
		if n -= has[why] / Group * Group; n > 0 {
			process[why].Add(n)
		}
	}
}
