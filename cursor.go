package mmapfile

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/sys"
)

// cursor is the place where Read, Write and Seek go on. It is in the kernel
// (the offset of the descriptor) or with us (pos), and state says where:
//
//	bit 0      with us; calls lock mu and use pos
//	bit 1      in the kernel for good: other code may see or move it
//	bits 2…63  calls in flight that use the kernel's offset
//
// The cursor can be taken from the kernel only while no call is in flight
// there, and no call waits for that: a read of a pipe may last for ever. With
// bit 1 set calls are no longer counted.
type cursor struct {
	state atomic.Uint64
	mu    sync.Mutex
	pos   int64 // under mu

	seeks  atomic.Uint32 // by system call
	wanted atomic.Bool   // it is to be ours, mapped or not

	// Where the kernel's offset is if calls use it one at a time: a hint, for pages.
	hint atomic.Int64
}

// moved moves the hint by n bytes, and returns where it was: -1 if it is not
// worth to be followed.
func (c *cursor) moved(n int64) int64 {
	if n <= 0 || c.state.Load()&cursorKernel != 0 {
		return -1
	}
	return c.hint.Add(n) - n
}

const (
	cursorOurs   = 1 << 0
	cursorKernel = 1 << 1
	cursorCall   = 1 << 2
)

// lockCursor makes the cursor ours to use until mu is unlocked, and says whether it
// did. It takes the cursor from the kernel when the file is mapped, or a copy of it is
// in memory, since calls need to know where they are then; or after many a Seek.
func (f *file) lockCursor() bool {
	switch s := f.cur.state.Load(); {
	case s == cursorOurs:
	case s != 0 || f.m.Load() == nil && !f.copied() && !f.cur.wanted.Load():
		return false
	}
	f.cur.mu.Lock()
	if f.cur.take(f.inner) {
		return true
	}
	f.cur.mu.Unlock()
	return false
}

// sought notes a Seek by system call. After some the cursor is to be ours, so that each
// of the next ones saves a system call. Only for a regular file on a local file system
// a read at an offset is known to be the same as one at the kernel's.
func (f *file) sought(pos int64) {
	f.cur.hint.Store(pos)
	if !canMap || locked || split || f.cur.seeks.Add(1) != trackFrom || f.cur.state.Load()&cursorKernel != 0 {
		return
	}
	if size, regular := f.stat(); regular && size > 0 && sys.StorageOf(f.inner) != sys.StorageRemote {
		f.cur.wanted.Store(true)
	}
}

// take brings the cursor to us, under mu, unless the kernel must keep it.
func (c *cursor) take(inner *os.File) bool {
	if c.state.Load() == cursorOurs { // as most are: a load is cheaper than an exchange
		return true
	}
	if !c.state.CompareAndSwap(0, cursorOurs) {
		return c.state.Load() == cursorOurs
	}
	pos, err := inner.Seek(0, io.SeekCurrent)
	if err != nil {
		c.retire()
		return false
	}
	c.pos = pos
	return true
}

// enter keeps the cursor in the kernel for one call, bringing it there first
// where it is ours. The result goes to leave.
func (c *cursor) enter(inner *os.File) (counted bool) {
	for {
		s := c.state.Load()
		switch {
		case s&cursorKernel != 0:
			return false
		case s&cursorOurs == 0:
			if c.state.CompareAndSwap(s, s+cursorCall) {
				return true
			}
		default:
			c.mu.Lock()
			if c.state.Load() == cursorOurs {
				inner.Seek(c.pos, io.SeekStart) // fails only once closed, and then so does the call
				c.hint.Store(c.pos)
				c.wanted.Store(false) // a kernel copy after each Seek would bring it to and fro
				c.seeks.Store(0)
				c.state.CompareAndSwap(cursorOurs, 0)
			}
			c.mu.Unlock()
		}
	}
}

func (c *cursor) leave(counted bool) {
	if counted {
		c.state.Add(^uint64(cursorCall - 1))
	}
}

// giveUp brings the cursor to the kernel for good.
func (c *cursor) giveUp(inner *os.File) {
	if c.state.Load()&cursorKernel != 0 {
		return
	}
	c.mu.Lock()
	if c.state.Load()&cursorOurs != 0 {
		inner.Seek(c.pos, io.SeekStart) // as in enter
	}
	c.retire()
	c.mu.Unlock()
}

// retire ends our use of the cursor without a lock, for Close.
func (c *cursor) retire() {
	for {
		s := c.state.Load()
		if c.state.CompareAndSwap(s, (s|cursorKernel)&^cursorOurs) {
			return
		}
	}
}
