package eventlog

import (
	"sync"
	"sync/atomic"
)

// durability is how far a Log or a Stream is known to be durable. A position is an offset in a Log,
// and a sequence number in a Stream.
type durability struct {
	end atomic.Int64 // everything before this position is durable

	// mu guards changes of end, and what follows. No other lock is taken while it is held.
	mu          sync.Mutex
	truncations int64 // calls of TruncateBack before end was set; 0 in a Log
	err         error // the first failure of a flush, after which end stays
}

// reached reports whether everything before a position is durable, and no flush has failed.
func (d *durability) reached(end, truncations int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err == nil && d.truncations == truncations && d.end.Load() >= end
}

// advance notes that everything before a position is durable, unless TruncateBack was called since.
func (d *durability) advance(end, truncations int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil && d.truncations == truncations {
		d.end.Store(max(end, d.end.Load()))
	}
}

// reset makes a position the end, which may be before the last one.
func (d *durability) reset(end, truncations int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end.Store(end)
	d.truncations = truncations
}

// fail notes an error of a flush, if it is not nil, and returns the first that there was.
func (d *durability) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
	return d.err
}

// failed returns the first error of a flush.
func (d *durability) failed() error { return d.fail(nil) }
