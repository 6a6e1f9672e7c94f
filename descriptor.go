package mmapfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Fd returns the descriptor, as [os.File.Fd] does, or ^uintptr(0) if there is none. The
// descriptor is valid until Close, or until f is collected.
//
// From the first call of Fd on, the kernel keeps the cursor as the descriptor's offset,
// because other code may move it. Read, Seek and all writes are system calls, as with
// os.File. The first call waits for writes of a mapped File that are in flight.
func (f *File) Fd() uintptr {
	if f == nil {
		return ^uintptr(0)
	}
	f.handOver()
	f.mu.RLock() // os.File.Fd does not check for a concurrent Close
	defer f.mu.RUnlock()
	if f.mu.Closed() {
		return ^uintptr(0)
	}
	return f.inner.Fd()
}

// OS returns the inner file, for an API that takes nothing else ([os/exec.Cmd],
// net.FileConn). It has the effects of [File.Fd]. The inner file belongs to f: closing f
// closes it, and truncating it is truncation by another program. The result is nil if f is
// nil.
//
// Closing the inner file does not close f, which the caller closes as well. f finds out in
// its next system call, and in Stat, Sync, Close, View and Bytes. From then on all calls are
// [os.ErrClosed], and the mapping is gone. Before that, ReadAt still reads from the mapping.
func (f *File) OS() *os.File {
	if f == nil {
		return nil
	}
	f.handOver()
	f.osReturned.Store(true)
	return f.inner
}

// handOver prepares for code that uses the descriptor directly: the cursor moves to the kernel
// for good, and no mapped write is in progress. A private File keeps its cursor.
func (f *file) handOver() {
	f.endReadOrder()
	if f.private {
		return
	}
	f.writeBack(0, -1)
	f.writes.Retire() // before a write can find that the kernel has the cursor
	f.cur.GiveUp(f.inner)
	f.movedEnd()
	f.endPeriod() // it cannot move the time once the inner file is closed, nor see a mode that is set
}

// SyscallConn returns a raw connection, as [os.File.SyscallConn] does, with its errors. The
// first use of the connection has the effects of [File.Fd].
func (f *File) SyscallConn() (syscall.RawConn, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	c, err := f.inner.SyscallConn()
	if err != nil {
		return nil, err
	}
	if f.private {
		return nil, f.fail("SyscallConn", errors.ErrUnsupported)
	}
	return rawConn{f.file, c}, nil
}

// rawConn hands the cursor over when it is used, not when it is made. io.Copy asks for one
// only to look at its type.
type rawConn struct {
	f *file
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

// SetDeadline sets the deadlines of a pipe, socket or device, as [os.File.SetDeadline]
// does. A regular file has none, which is [os.ErrNoDeadline].
func (f *File) SetDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.timed(f.inner.SetDeadline(t))
}

// SetReadDeadline sets the deadline for reading alone. See [File.SetDeadline].
func (f *File) SetReadDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.timed(f.inner.SetReadDeadline(t))
}

// SetWriteDeadline sets the deadline for writing alone. See [File.SetDeadline].
func (f *File) SetWriteDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.timed(f.inner.SetWriteDeadline(t))
}

// timed has all calls at the cursor of a file with a deadline go to the inner file, which checks
// the deadline. A read at an offset would not.
func (f *file) timed(err error) error {
	if err == nil {
		f.handOver()
	}
	return err
}
