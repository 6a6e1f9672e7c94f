// Package cursor knows who holds the offset at which Read, Write and Seek of a file continue:
// the File or the kernel.
//
// Invariant: while the File holds the cursor, only calls that have it locked move the kernel's
// offset, and nothing relies on where they leave it. While another call uses that offset, or
// once other code may see or move it, the kernel holds the cursor. The one that takes it
// continues where the other was.
package cursor

import (
	"io"
	"sync"
	"sync/atomic"
)

// Cursor is the cursor of one file. The zero value is held by the kernel, as its offset, and
// the File may take it. The methods with a file as their argument move that file's offset to
// the cursor, or the cursor to that offset.
type Cursor struct {
	// state says who holds the cursor:
	//
	//	bit 0      the File holds it; calls lock mu and use pos
	//	bit 1      the kernel holds it for good: other code may see or move it
	//	bits 2…63  calls in flight that use the kernel's offset
	//
	// The File can take the cursor only while no such call is in flight. It does not wait for
	// them, because a read of a pipe may last for ever. With bit 1 set calls are not counted.
	state atomic.Uint64
	mu    sync.Mutex
	pos   int64 // under mu

	// hint is the kernel's offset if calls use it one at a time. Nothing relies on it.
	hint atomic.Int64

	seeks  atomic.Uint32 // by system call
	wanted atomic.Bool   // the File is to take it with the next call
}

const (
	byFile   = 1 << 0
	byKernel = 1 << 1
	call     = 1 << 2
)

// StayInKernel leaves the cursor in the kernel for good. Called before any other method.
func (c *Cursor) StayInKernel() { c.state.Store(byKernel) }

// StartInFile has the File hold a cursor at 0. Called before any other method.
func (c *Cursor) StartInFile() { c.state.Store(byFile) }

// Shared reports whether other code may see or move the kernel's offset.
func (c *Cursor) Shared() bool { return c.state.Load()&byKernel != 0 }

// InFile reports whether the File holds the cursor.
func (c *Cursor) InFile() bool { return c.state.Load() == byFile }

// LockHeld locks the cursor if the File holds it, and reports whether it did. It is inlined: one
// call for what Lock does in two.
func (c *Cursor) LockHeld() bool { return c.state.Load() == byFile && c.lockHeld() }

func (c *Cursor) lockHeld() bool {
	c.mu.Lock()
	if c.state.Load() == byFile {
		return true
	}
	c.mu.Unlock()
	return false
}

// Lock locks the cursor for the File until Unlock, and reports whether it did. If the kernel
// holds it, the File takes it if take is set, or after Want.
func (c *Cursor) Lock(file io.Seeker, take bool) bool {
	switch s := c.state.Load(); {
	case s == byFile:
	case s != 0 || !take && !c.wanted.Load():
		return false
	}
	c.mu.Lock()
	if c.take(file) {
		return true
	}
	c.mu.Unlock()
	return false
}

// TryLock locks the cursor if no call uses it, in the File or in the kernel.
func (c *Cursor) TryLock(file io.Seeker) bool {
	if c.state.Load() > byFile || !c.mu.TryLock() {
		return false
	}
	if c.take(file) {
		return true
	}
	c.mu.Unlock()
	return false
}

// TryLockInFile is TryLock, but leaves a cursor that the kernel holds there.
func (c *Cursor) TryLockInFile() bool {
	if !c.InFile() || !c.mu.TryLock() {
		return false
	}
	if c.InFile() {
		return true
	}
	c.mu.Unlock()
	return false
}

// Unlock undoes a successful Lock, TryLock or TryLockInFile.
func (c *Cursor) Unlock() { c.mu.Unlock() }

// Pos returns the cursor. Called with the cursor locked.
func (c *Cursor) Pos() int64 { return c.pos }

// SetPos moves the cursor. Called with the cursor locked.
func (c *Cursor) SetPos(pos int64) { c.pos = pos }

// take moves the cursor to the File, under mu, unless the kernel must keep it.
func (c *Cursor) take(file io.Seeker) bool {
	if c.state.Load() == byFile { // the most common case: a load is cheaper than an exchange
		return true
	}
	if !c.state.CompareAndSwap(0, byFile) {
		return c.state.Load() == byFile
	}
	pos, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		c.Retire()
		return false
	}
	c.pos = pos
	return true
}

// Enter keeps the cursor in the kernel for one call, and moves it there first if the File
// holds it. The result is passed to Leave.
func (c *Cursor) Enter(file io.Seeker) (counted bool) {
	for {
		s := c.state.Load()
		switch {
		case s&byKernel != 0:
			return false
		case s&byFile == 0:
			if c.state.CompareAndSwap(s, s+call) {
				return true
			}
		default:
			c.mu.Lock()
			if c.state.Load() == byFile {
				file.Seek(c.pos, io.SeekStart) // fails only once closed, and then the call fails too
				c.hint.Store(c.pos)
				c.wanted.Store(false) // a kernel copy after each Seek would move it to and fro
				c.seeks.Store(0)
				c.state.CompareAndSwap(byFile, 0)
			}
			c.mu.Unlock()
		}
	}
}

// Leave ends the call, which has moved the kernel's offset by n bytes. It returns where they
// begin if calls use the offset one at a time, or -1 if other code may move it.
func (c *Cursor) Leave(counted bool, n int64) (off int64) {
	off = -1
	if !c.Shared() {
		off = c.hint.Add(n) - n
	}
	if counted {
		c.state.Add(^uint64(call - 1))
	}
	return off
}

// Hint returns the kernel's offset if calls use it one at a time, and anything otherwise.
func (c *Cursor) Hint() int64 { return c.hint.Load() }

// Sought records a Seek to pos by system call, and reports whether it is the one after which
// the File gains from holding the cursor.
func (c *Cursor) Sought(pos int64) bool {
	c.hint.Store(pos)
	return c.seeks.Add(1) == seeksFrom && !c.Shared()
}

// seeksFrom is the number of calls of Seek after which the File takes the cursor. A file
// that is read once after a few of them costs what it costs with os.File.
const seeksFrom = 32

// Want has the File take the cursor with the next call that locks it.
func (c *Cursor) Want() { c.wanted.Store(true) }

// GiveUp moves the cursor to the kernel for good.
func (c *Cursor) GiveUp(file io.Seeker) {
	if c.Shared() {
		return
	}
	c.mu.Lock()
	if c.state.Load()&byFile != 0 {
		file.Seek(c.pos, io.SeekStart) // as in Enter
	}
	c.Retire()
	c.mu.Unlock()
}

// Retire ends the File's use of the cursor without a lock, for Close.
func (c *Cursor) Retire() {
	for {
		s := c.state.Load()
		if c.state.CompareAndSwap(s, (s|byKernel)&^byFile) {
			return
		}
	}
}
