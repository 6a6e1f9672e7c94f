package file

import (
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// readOrder says whether the system was told that a file is read in order. Other code that
// has the descriptor may have advice of its own, so it is told nothing from then on.
type readOrder struct {
	mu        sync.Mutex // held while the system is told
	on        atomic.Bool
	handedOut bool // under mu: other code has the descriptor
}

// readInOrder tells the system, once, that the file is read in order, or that it no longer
// is.
func (f *File) readInOrder(on bool) {
	if f.readsInOrder() == on || !f.ownDescriptor() {
		return
	}
	o := &f.needCold().order
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on.Load() != on && !o.handedOut {
		sys.ReadInOrder(f.inner, on)
		o.on.Store(on)
	}
}

// readsInOrder reports whether the system was told so.
func (f *File) readsInOrder() bool {
	c := f.cold.Load()
	return c != nil && c.order.on.Load()
}

// endReadOrder takes back what the system was told, before a descriptor is handed out.
func (f *File) endReadOrder() {
	o := &f.needCold().order
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handedOut = true
	if o.on.Swap(false) {
		sys.ReadInOrder(f.inner, false)
	}
}

// copyInOrder tells the system that the file is read in order, for a kernel copy of what is
// not in memory, and reports whether it did.
func (f *File) copyInOrder() bool {
	if !f.tracks() || !f.ownDescriptor() || f.readsInOrder() {
		return false
	}
	size, off := f.length.Known(), f.cur.Hint()
	if !f.length.Current() {
		size, _ = f.stat()
	}
	if size-off < pages.AheadBytes { // the system reads as much ahead by itself
		return false
	}
	in, err := f.inMemory(off, off+pages.AheadBytes)
	if in || err != nil {
		return false
	}
	f.readInOrder(true)
	return true
}
