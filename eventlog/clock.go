package eventlog

import (
	"sync/atomic"
	"time"
)

// clock tells the time in Unix nanoseconds. time.Now reads two clocks of the system. clock reads the
// monotonic one alone, and the other, which can be set, once a millisecond. That takes 27 ns instead
// of 47, and an append of 64 bytes 134.
type clock struct {
	now    func() time.Time // Options.Now, or nil
	base   time.Time
	offset atomic.Int64 // from the time since base to that of the wall clock
	next   atomic.Int64 // when to read the wall clock again
}

const clockTrust = int64(time.Millisecond)

func newClock(now func() time.Time) *clock {
	return &clock{now: now, base: time.Now()}
}

// read may be called concurrently.
func (c *clock) read() int64 {
	if c.now != nil {
		return since(c.now())
	}
	d := int64(time.Since(c.base))
	if d < c.next.Load() {
		return c.offset.Load() + d
	}
	t := time.Now()
	d = int64(t.Sub(c.base))
	c.offset.Store(t.UnixNano() - d)
	c.next.Store(d + clockTrust)
	return t.UnixNano()
}
