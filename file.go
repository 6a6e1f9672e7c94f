package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// The methods below concern the descriptor, a directory, or the file's metadata. The inner
// file answers them. Their comments say what differs.

// Close closes the file and makes its mappings inaccessible. It does not wait for reads and
// writes, except on Windows, and if the File is private or has a [FlushPolicy]. Calls in
// flight end in full or with [os.ErrClosed], and a call blocked in a pipe is released. A second Close is a
// *[fs.PathError] with Op "close" and os.ErrClosed, as with [os.File.Close].
//
// An access to a slice from [File.Bytes] faults after Close. Close does not sync, unless a
// [FlushPolicy] has something left to flush.
func (f *File) Close() error {
	if f == nil {
		return os.ErrInvalid
	}
	if f.file == nil {
		return syscall.EINVAL // a File that was never opened, as with os.File
	}
	var serr error
	if f.flusher != nil {
		f.flusher.gate.Lock()
		defer f.flusher.gate.Unlock()
		serr = f.flush()
	}
	f.mu.Lock()
	if !f.closed {
		if err := f.settle(0, math.MaxInt); err != nil { // seen by the race detector: the caller must not modify the memory any more
			serr = err
		}
		f.end()
		f.endPeriod()
	}
	f.mu.Unlock()
	if f.flusher != nil {
		if err := f.flusher.end(f.file); err != nil {
			serr = err
		}
	}
	err := sys.Close(f.inner)
	f.cur.retire() // now, so that no call goes on at an offset that the kernel does not have
	if err == nil && serr != nil {
		err = f.fail("close", cause(serr))
	}
	return err
}

// end ends the use of mappings. Called with mu held.
func (f *file) end() {
	f.closed = true
	f.ended.Store(true)
	f.unpublish()
	stats.calls.Add(f.pages.Calls())
}

// lost reports whether a caller of OS has closed the inner file, and then ends f. It makes no
// system call.
func (f *file) lost() bool { return f.lent.Load() && f.lostInner() }

func (f *file) lostInner() bool {
	if f.m.Load() == nil && !f.copied() {
		return false
	}
	// A file that can be mapped has no deadline, so this changes nothing.
	if err := f.inner.SetDeadline(time.Time{}); err == nil || errors.Is(err, os.ErrNoDeadline) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.end()
	}
	f.cur.retire()
	return true
}

// check returns err, the result of a call of the inner file. It ends f if that is closed.
func (f *file) check(err error) error {
	if err != nil && err != io.EOF {
		f.lost()
	}
	return err
}

// Stat returns what [os.File.Stat] returns, so that [os.SameFile] works on it. If there
// were mapped writes, it first moves the modification time.
func (f *File) Stat() (fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	f.lost()
	f.endPeriod()
	f.lockMappings() // see Len
	defer f.unlockMappings()
	a := f.askSize()
	fi, err := f.inner.Stat()
	if err == nil && fi.Mode().IsRegular() && (!locked || !f.closed) {
		f.learn(a, fi.Size())
	}
	return fi, err
}

// Truncate changes the file's length to size bytes and leaves the cursor where it is, as
// [os.File.Truncate] does, with its errors. It waits for writes of f in flight. The caller
// must no longer access the truncated part of slices from [File.Bytes].
//
// Windows does not truncate a mapped file. There Truncate takes the file's mappings away
// and restores them at the same addresses. Meanwhile no slice from Bytes may be accessed,
// and a View in another goroutine fails.
func (f *File) Truncate(size int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if f.private {
		return f.truncatePrivate(size)
	}
	if f.flusher == nil {
		return f.check(f.truncate(size))
	}
	_, err := f.flusher.write(f.file, func() (int, error) {
		if err := f.truncate(size); err != nil {
			return 0, err
		}
		return 1, nil // so that a flush is due
	})
	return f.check(err)
}

func (f *file) truncate(size int64) error {
	l, held := f.lockWrites()
	defer f.unlockWrites(l, held)
	f.countTruncation()
	defer f.countTruncation()
	f.settle(0, -1)
	old := f.size.Load()
	if 0 <= size && size < old {
		f.size.Store(size) // first, so that no call relies on bytes that are gone
	}
	if err := f.truncateInner(size); err != nil {
		f.size.Store(old)
		return err
	}
	f.pages.Truncated(size)
	f.size.Store(size) // a write past the end meanwhile makes it stale
	f.reload(nil, 0)
	return nil
}

// Chdir changes the current working directory to the file, which must be a directory, as
// [os.File.Chdir] does, with its errors.
func (f *File) Chdir() error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.check(f.inner.Chdir())
}

// Chmod changes the file's mode, as [os.File.Chmod] does, with its errors.
func (f *File) Chmod(mode fs.FileMode) error {
	if f == nil {
		return os.ErrInvalid
	}
	f.endPeriod() // so that the next write is the kernel's, which clears set-user-ID
	return f.check(f.inner.Chmod(mode))
}

// Chown changes the file's owner and group, as [os.File.Chown] does, with its errors.
func (f *File) Chown(uid, gid int) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.check(f.inner.Chown(uid, gid))
}

// Name returns the name that was given at open, as [os.File.Name] does, also after Close.
// It panics if f is nil, as that does.
func (f *File) Name() string {
	return f.inner.Name()
}

// ReadDir reads the entries of the directory f, as [os.File.ReadDir] does, with its errors.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	list, err := f.inner.ReadDir(n)
	if f.dir != nil {
		f.dir.entries(list, n <= 0)
	}
	return list, err
}

// Readdir reads the entries of the directory f with their FileInfo, as
// [os.File.Readdir] does, with its errors.
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.inner.Readdir(n)
}

// Readdirnames reads the names in the directory f, as [os.File.Readdirnames] does,
// with its errors.
func (f *File) Readdirnames(n int) (names []string, err error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.inner.Readdirnames(n)
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

// timed keeps the cursor of a file with a deadline in the kernel. Then Read goes to the
// inner file, which checks the deadline; a read at an offset would not.
func (f *file) timed(err error) error {
	if err == nil {
		f.cur.giveUp(f.inner)
	}
	return err
}

// Fd returns the descriptor, as [os.File.Fd] does, or ^uintptr(0) if there is none. The
// descriptor is valid until Close, or until f is collected.
//
// From the first call of Fd on, the kernel keeps the cursor as the descriptor's offset,
// because other code may move it. Read, Seek and all writes cost what they cost with
// os.File.
func (f *File) Fd() uintptr {
	if f == nil {
		return ^uintptr(0)
	}
	if !f.private {
		f.handOver()
	}
	f.mu.RLock() // os.File.Fd does not check for a concurrent Close
	defer f.mu.RUnlock()
	if f.closed {
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
	if !f.private {
		f.handOver()
	}
	f.endPeriod() // which cannot move the modification time once the inner file is closed
	f.lent.Store(true)
	return f.inner
}

// handOver moves the cursor to the kernel for good, for code that uses the descriptor
// directly.
func (f *file) handOver() {
	f.settle(0, -1)
	f.cur.giveUp(f.inner)
	f.movedEnd()
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
