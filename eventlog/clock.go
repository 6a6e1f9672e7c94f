package eventlog

import (
	"sync/atomic"
	"time"
)

// clock tells the time in Unix nanoseconds, in half the time of time.Now, which reads two
// clocks of the system. clock reads the monotonic one alone. It reads the other, which can
// be set, once a millisecond.
type clock struct {
	now    func() time.Time // Options.Now, or nil
	base   time.Time
	offset atomic.Int64 // of the wall clock from the time since base
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
