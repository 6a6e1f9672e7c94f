package closemutex

import (
	"sync"
	"testing"
)

func TestCloseUnused_AfterUse(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(m *Mutex){
		"Lock":    func(m *Mutex) { m.Lock(); defer m.Unlock() },
		"TryLock": func(m *Mutex) { m.TryLock(); defer m.Unlock() },
		"RLock":   func(m *Mutex) { m.RLock(); defer m.RUnlock() },
		"Close":   func(m *Mutex) { m.Close() },
	} {
		var m Mutex
		if use(&m); m.CloseUnused() {
			t.Errorf("%s: closed without the lock", name)
		}
	}
	var m Mutex
	if m.Closed() || !m.CloseUnused() || !m.Closed() || m.CloseUnused() {
		t.Error("a Mutex that was not used is not closed once")
	}
}

// Either the holder of the lock finds m closed, or CloseUnused finds that the lock is in use.
func TestCloseUnused_BesideLock(t *testing.T) {
	t.Parallel()
	for range 2000 {
		var m Mutex
		var open, unused bool
		var all sync.WaitGroup
		all.Go(func() {
			m.Lock()
			open = !m.Closed()
			m.Unlock()
		})
		all.Go(func() { unused = m.CloseUnused() })
		if all.Wait(); open && unused {
			t.Fatal("closed without the lock, beside a call that holds it and found it open")
		}
	}
}
