package pages

import "sync/atomic"

// A Reason says why a call was a system call. Each one has one, which is derived after it.
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

// Counts are numbers of system calls by their reasons.
type Counts [reasons]uint64

// systemCalls are those of the process. A file adds its calls of a reason in groups of LookEvery.
var systemCalls [reasons]atomic.Uint64

// SystemCalls returns those of the process.
func SystemCalls() (c Counts) {
	for why := range c {
		c[why] = systemCalls[why].Load()
	}
	return c
}

// countCalls counts n calls of the file.
func (r *record) countCalls(why Reason, n uint64) {
	after := r.calls[why].Add(n)
	if groups := after/LookEvery - (after-n)/LookEvery; groups > 0 {
		systemCalls[why].Add(groups * LookEvery)
	}
}

// Refused counts a call for which it does not matter what is known of its pages. It is not recorded, and why
// is asked once in LookEvery calls: a file of a few appends pays nothing for the reason.
func (p *Pages) Refused(why func() Reason) {
	state := p.state.Load() + oneCall + oneEarly
	if state>>callsShift%LookEvery == 0 {
		p.countEarly(state, why())
		state &^= earlyMask | recorded
	}
	p.state.Store(state)
}

// holds reports whether state has room for the next calls that are not recorded. So a file of up to some
// 200 calls that are not recorded allocates nothing.
func (p *Pages) holds(state uint64) bool {
	return p.rec.Load() == nil && state&earlyMask < earlyMask-LookEvery*oneEarly
}

// countEarly counts the calls of state that were not recorded. rest is why, for those after the first ones.
func (p *Pages) countEarly(state uint64, rest Reason) {
	first, more := p.early(state)
	r := p.begin()
	r.countCalls(First, first)
	r.countCalls(rest, more)
}

// early returns how many calls of state were not recorded: the first ones of the file, and the others.
func (p *Pages) early(state uint64) (first, more uint64) {
	more = state & earlyMask >> earlyShift
	if r := p.rec.Load(); r == nil || r.calls[First].Load() == 0 {
		first = min(more, LookEvery)
	}
	return first, more - first
}

// Calls returns the system calls of the file. rest is the reason of those that are not recorded.
func (p *Pages) Calls(rest Reason) (c Counts) {
	if r := p.rec.Load(); r != nil {
		for why := range c {
			c[why] = r.calls[why].Load()
		}
	}
	first, more := p.early(p.state.Load())
	c[First] += first
	c[rest] += more
	return c
}

// Closed adds the last calls of the file to those of the process.
func (p *Pages) Closed(rest Reason) {
	r := p.rec.Load()
	for why, n := range p.Calls(rest) {
		if r != nil {
			n -= r.calls[why].Load() / LookEvery * LookEvery
		}
		if n > 0 {
			systemCalls[why].Add(n)
		}
	}
}
