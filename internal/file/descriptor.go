package file

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Fd is the method of mmapfile.File.
func (f *File) Fd() uintptr {
	f.handOver()
	f.mu.RLock() // os.File.Fd does not check for a concurrent Close
	defer f.mu.RUnlock()
	if f.mu.Closed() {
		return ^uintptr(0)
	}
	return f.inner.Fd()
}

// OS is the method of mmapfile.File.
func (f *File) OS() *os.File {
	f.handOver()
	f.osReturned.Store(true)
	return f.inner
}

// handOver prepares for code that uses the descriptor directly: the cursor moves to the kernel
// for good, and no mapped write is in progress. A private File keeps its cursor.
func (f *File) handOver() {
	f.endReadOrder()
	if f.private() {
		return
	}
	f.writeBack(0, -1)
	f.writes.Retire() // before a write can find that the kernel has the cursor
	f.cur.GiveUp(f.inner)
	f.movedEnd()
	f.endPeriod() // it cannot move the time once the inner file is closed, nor see a mode that is set
}

// SyscallConn is the method of mmapfile.File.
func (f *File) SyscallConn() (syscall.RawConn, error) {
	c, err := f.inner.SyscallConn()
	if err != nil {
		return nil, err
	}
	if f.private() {
		return nil, f.fail("SyscallConn", errors.ErrUnsupported)
	}
	return rawConn{f, c}, nil
}

// rawConn hands the cursor over when it is used, not when it is made. io.Copy asks for one
// only to look at its type.
type rawConn struct {
	f *File
	c syscall.RawConn
}

func (r rawConn) Control(fn func(fd uintptr)) error {
	r.f.handOver()
	return r.c.Control(fn)
}

func (r rawConn) Read(fn func(fd uintptr) bool) error {
	r.f.handOver()
	return r.c.Read(fn)
}

func (r rawConn) Write(fn func(fd uintptr) bool) error {
	r.f.handOver()
	return r.c.Write(fn)
}

// SetDeadline is the method of mmapfile.File.
func (f *File) SetDeadline(t time.Time) error {
	return f.timed(f.inner.SetDeadline(t))
}

// SetReadDeadline is the method of mmapfile.File.
func (f *File) SetReadDeadline(t time.Time) error {
	return f.timed(f.inner.SetReadDeadline(t))
}

// SetWriteDeadline is the method of mmapfile.File.
func (f *File) SetWriteDeadline(t time.Time) error {
	return f.timed(f.inner.SetWriteDeadline(t))
}

// timed has all calls at the cursor of a file with a deadline go to the inner file, which checks
// the deadline. A read at an offset would not.
func (f *File) timed(err error) error {
	if err == nil {
		f.handOver()
	}
	return err
}
