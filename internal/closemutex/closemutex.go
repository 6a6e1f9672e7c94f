// Package closemutex has the lock of what Close ends.
//
// Invariant: while the lock is held, only its holder changes Closed. So a Close that
// finds that the lock was never used has nothing to end, and takes no lock: a call that uses it
// from then on finds it closed.
package closemutex

import (
	"sync"
	"sync/atomic"
)

// Mutex is a [sync.RWMutex] that knows whether it was ever locked, and whether what it guards is
// closed. The zero value is unlocked, unused and open.
type Mutex struct {
	mu    sync.RWMutex
	state atomic.Uint32 // used, closed
}

const (
	used   = 1 << 0 // a call has locked it, or is about to
	closed = 1 << 1
)

func (m *Mutex) use() {
	if m.state.Load()&used == 0 {
		m.state.Or(used)
	}
}

// Lock is that of [sync.RWMutex], as are the next ones.
func (m *Mutex) Lock() {
	m.use()
	m.mu.Lock()
}

func (m *Mutex) TryLock() bool {
	m.use()
	return m.mu.TryLock()
}

func (m *Mutex) Unlock() { m.mu.Unlock() }

func (m *Mutex) RLock() {
	m.use()
	m.mu.RLock()
}

func (m *Mutex) RUnlock() { m.mu.RUnlock() }

// Close closes m. Called with the lock held.
func (m *Mutex) Close() { m.state.Or(closed) }

// CloseUnused closes m if the lock was never used, and reports whether it did.
func (m *Mutex) CloseUnused() bool { return m.state.CompareAndSwap(0, closed) }

// Closed reports whether m is closed. Without the lock, it may be closed next.
func (m *Mutex) Closed() bool { return m.state.Load()&closed != 0 }
