package mmapfile

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/sys"
)

// cursor is the offset at which Read, Write and Seek continue. The kernel holds it (the
// offset of the descriptor), or the File does (pos). state says which:
//
//	bit 0      the File holds it; calls lock mu and use pos
//	bit 1      the kernel holds it for good: other code may see or move it
//	bits 2…63  calls in flight that use the kernel's offset
//
// The File can take the cursor from the kernel only while no such call is in flight. It
// does not wait for them, because a read of a pipe may last for ever. With bit 1 set calls
// are no longer counted.
type cursor struct {
	state atomic.Uint64
	mu    sync.Mutex
	pos   int64 // under mu

	seeks  atomic.Uint32 // by system call
	wanted atomic.Bool   // the File is to take it, mapped or not

	// hint is the kernel's offset if calls use it one at a time. pages use it.
	hint atomic.Int64
}

// seeksFrom is the number of calls of Seek after which the File takes the cursor. A file
// that is read once after a few of them costs what it costs with os.File.
const seeksFrom = 32

const (
	cursorOurs   = 1 << 0
	cursorKernel = 1 << 1
	cursorCall   = 1 << 2
)

// lockCursor locks the cursor for use by the File until mu is unlocked, and reports whether
// it did. It takes the cursor from the kernel when the file is mapped, or a copy of it is
// in memory: then calls need to know the offset. It also does so after many calls of Seek.
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

// sought records a Seek by system call. After some, the File takes the cursor, so that each
// further one saves a system call. Only a regular file on a local file system is known to
// give the same bytes at an offset as at the cursor.
func (f *file) sought(pos int64) {
	f.cur.hint.Store(pos)
	if !canMap || closeNeedsLock || noUnifiedCache || f.cur.seeks.Add(1) != seeksFrom || f.cur.state.Load()&cursorKernel != 0 {
		return
	}
	if size, regular := f.stat(); regular && size > 0 && f.storageOf() != sys.StorageRemote {
		f.cur.wanted.Store(true)
	}
}

// take moves the cursor to the File, under mu, unless the kernel must keep it.
func (c *cursor) take(inner *os.File) bool {
	if c.state.Load() == cursorOurs { // the most common case: a load is cheaper than an exchange
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

// enter keeps the cursor in the kernel for one call, and moves it there first if the File
// holds it. The result is passed to leave.
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
				inner.Seek(c.pos, io.SeekStart) // fails only once closed, and then the call fails too
				c.hint.Store(c.pos)
				c.wanted.Store(false) // a kernel copy after each Seek would move it to and fro
				c.seeks.Store(0)
				c.state.CompareAndSwap(cursorOurs, 0)
			}
			c.mu.Unlock()
		}
	}
}

// leave ends the call, which has moved the kernel's offset by n bytes. It returns where they
// begin, or -1 if that is not known.
func (c *cursor) leave(counted bool, n int64) (off int64) {
	off = -1
	if c.state.Load()&cursorKernel == 0 {
		off = c.hint.Add(n) - n
	}
	if counted {
		c.state.Add(^uint64(cursorCall - 1))
	}
	return off
}

// giveUp moves the cursor to the kernel for good.
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

// retire ends the File's use of the cursor without a lock, for Close.
func (c *cursor) retire() {
	for {
		s := c.state.Load()
		if c.state.CompareAndSwap(s, (s|cursorKernel)&^cursorOurs) {
			return
		}
	}
}
