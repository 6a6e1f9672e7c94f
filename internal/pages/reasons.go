package pages

import (
	"time"

	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
)

// Refused counts a call for which it does not matter what is known of its pages. It is not recorded, and why
// is asked once in LookEvery calls: a file of a few appends pays nothing for the reason. The next group of calls begins with
// one that can be recorded, unless there seems to be none.
func (p *Pages) Refused(why func() reason.Reason) {
	old := p.state.Load()
	state := old + oneCall + oneEarly
	if state>>callsShift%LookEvery != 0 {
		p.state.CompareAndSwap(old, state)
		return
	}
	next := old &^ (earlyMask | recorded)
	if early(old) == 0 && old&recorded == 0 {
		next += oneCall
	}
	if old&closed == 0 && p.state.CompareAndSwap(old, next) { // else a call of another goroutine counts them
		p.unrecorded(early(state), why())
	}
}

// unrecorded counts n calls that were not recorded.
func (p *Pages) unrecorded(n uint64, why reason.Reason) {
	r := p.begin()
	r.rest.Store(int32(why))
	r.calls.AddUnrecorded(n, why)
}

// rest returns the reason of those that are not counted yet: why, or if that is None, that of the last ones.
func (p *Pages) rest(why reason.Reason) reason.Reason {
	switch r := p.rec.Load(); {
	case why != reason.None:
		return why
	case r != nil && r.rest.Load() > 0:
		return reason.Reason(r.rest.Load())
	}
	return reason.Unpaid
}

// holds reports whether state has room for the next calls that are not recorded. So a file of up to some
// 200 calls that are not recorded allocates nothing.
func (p *Pages) holds(state uint64) bool {
	return p.rec.Load() == nil && state&earlyMask < earlyMask-LookEvery*oneEarly
}

// early returns how many calls of state were not recorded.
func early(state uint64) uint64 { return state & earlyMask >> earlyShift }

// counter returns the counts of the file, or nil if there is no record.
func (p *Pages) counter() *reason.Counter {
	if r := p.rec.Load(); r != nil {
		return &r.calls
	}
	return nil
}

// Calls returns the system calls of the file. why is the reason of those that are not recorded, or None.
func (p *Pages) Calls(why reason.Reason) reason.Counts {
	counts := p.counter().Counts() // before the others, which may move to them meanwhile
	return counts.With(early(p.state.Load()), p.rest(why))
}

// Closed adds the last calls of the file to those of the process. why is that of Calls, and unmapped is what it took to unmap
// the file, or 0 if that is no measure.
func (p *Pages) Closed(why reason.Reason, unmapped time.Duration) {
	state := p.state.Or(closed) // before the counts, to which others may move
	p.counter().Close(early(state), p.rest(why))
	if r := p.rec.Load(); r != nil && unmapped > 0 {
		r.unmapped(int64(unmapped))
	}
}

// unmapped measures what it took to unmap the file: one of two prices, by which of them it mostly was.
func (r *record) unmapped(took int64) {
	n := r.loaded.Load()
	ends, rest := n*prices.EndOfBlock(), prices.Unmap.Now()
	switch {
	case ends > rest && took > rest:
		prices.End.Measure(took-rest, n)
	case ends <= rest && took > ends:
		prices.Unmap.Measure(took-ends, 1)
	default: // the system had evicted blocks, or both prices are too high
		prices.End.Fall()
		prices.Unmap.Fall()
	}
}
