package mmapfile

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// The methods of os.File.

// Name returns the name that was given at open, as [os.File.Name] does, also after Close. It
// panics if f is nil, as os.File.Name does.
func (f *File) Name() string {
	return f.file.Name()
}

// Read reads up to len(b) bytes at the cursor and moves the cursor. It returns what
// [os.File.Read] returns: a short read has no error, and at the end of the file Read returns 0,
// [io.EOF]. Close releases a Read that is blocked in a pipe or device.
func (f *File) Read(b []byte) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.Read(b)
}

// ReadAt reads len(b) bytes at the byte offset off, and returns what [os.File.ReadAt] returns:
// [io.EOF] if the file ends before len(b) bytes, and any other error with n < len(b) is a
// *[io/fs.PathError]. ReadAt sees truncation or growth by any process at once.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.ReadAt(b, off)
}

// ReadFrom reads from r until [io.EOF], writes the bytes at the cursor, and moves the cursor. It
// returns what [os.File.ReadFrom] returns, and keeps the kernel's fast paths from files and
// sockets, also from those inside an [io.LimitedReader].
func (f *File) ReadFrom(r io.Reader) (n int64, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.ReadFrom(r)
}

// WriteTo writes what is between the cursor and the end of the file to w, and moves the cursor.
// It returns what [os.File.WriteTo] returns, and keeps the kernel's fast paths to files and
// sockets. It does not find an *[os.File] inside a bufio.Writer or another wrapper; use [File.OS]
// there.
func (f *File) WriteTo(w io.Writer) (n int64, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.WriteTo(w)
}

// Write writes b at the cursor and moves the cursor. On a file opened with [os.O_APPEND] it
// writes at the end. It returns what [os.File.Write] returns: an error if n < len(b). See
// [File.WriteAt] for what it allocates, and [File] for what a crash of the system can lose, and the
// end of the process tear.
func (f *File) Write(b []byte) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.Write(b)
}

// WriteAt writes b at the byte offset off, and returns what [os.File.WriteAt] returns. If n <
// len(b), the error is a *[io/fs.PathError]. On a file opened with [os.O_APPEND] it is the error
// of [os.File.WriteAt], which is not a *fs.PathError. A write past the end makes the file longer.
// WriteAt allocates nothing, except a few small objects for the record of pages, to map the file
// and, at most every 50 ms, to move the modification time.
//
// See [File] for what a crash of the system can lose, and the end of the process tear.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.WriteAt(b, off)
}

// WriteString is like [File.Write], but writes the bytes of s.
func (f *File) WriteString(s string) (n int, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.WriteString(s)
}

// Seek sets the cursor to offset bytes from the start, the cursor or the end of the file, and
// returns the new cursor. Its errors and other values of whence are those of [os.File.Seek].
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	return f.file.Seek(offset, whence)
}

// Stat returns what [os.File.Stat] returns, so [os.SameFile] accepts it. After mapped writes, it
// first updates the modification time.
func (f *File) Stat() (fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.file.Stat()
}

// Truncate changes the file's length to size bytes and leaves the cursor where it is, as
// [os.File.Truncate] does, and returns the same errors. If f is mapped for writing, it waits for
// writes in flight. The caller must no longer access the truncated part of slices from
// [File.Bytes].
//
// Windows does not truncate a mapped file. There, Truncate removes the file's mappings and
// restores them at the same addresses. Meanwhile no slice from Bytes may be accessed, and a View
// in another goroutine fails.
func (f *File) Truncate(size int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Truncate(size)
}

// Sync makes all written bytes durable before it returns, as [os.File.Sync] does, including mapped
// writes, and stores into memory from [File.Bytes], [File.View] and the like. Its errors are those
// of os.File.Sync, or that of an earlier flush by a [FlushPolicy]. On a private File (see
// [Options]) it does nothing, because no write reaches the file.
func (f *File) Sync() error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Sync()
}

// Close closes the file and makes its mappings inaccessible. It waits for a Truncate in progress
// and, unless the descriptor was handed out, for writes in flight on a mapped File. It waits for
// other calls only on Windows or if the File is private, and for all writes if the File has a
// [FlushPolicy]. Every call in progress completes or returns [os.ErrClosed], and one that is
// blocked in a pipe is released. A second Close fails with os.ErrClosed, as that of [os.File]
// does.
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
	return f.file.Close()
}

// Fd returns the descriptor, as [os.File.Fd] does, or ^uintptr(0) if there is none. The
// descriptor is valid until Close, or until f is collected.
//
// From the first call of Fd on, the kernel keeps the cursor as the descriptor's offset, because
// other code may move it: Read, Seek and all writes are system calls, as with os.File. The first
// call waits for writes in flight on a mapped File, and for a Read in progress at a cursor of the
// File.
func (f *File) Fd() uintptr {
	if f == nil {
		return ^uintptr(0)
	}
	return f.file.Fd()
}

// SyscallConn returns a raw connection, as [os.File.SyscallConn] does, and the same errors. The
// first use of the connection has the effects of [File.Fd].
func (f *File) SyscallConn() (syscall.RawConn, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.file.SyscallConn()
}

// SetDeadline sets the deadlines of a pipe, socket or device, as [os.File.SetDeadline] does. For
// a regular file, which has none, it returns [os.ErrNoDeadline].
func (f *File) SetDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.SetDeadline(t)
}

// SetReadDeadline sets the deadline for reading. See [File.SetDeadline].
func (f *File) SetReadDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline for writing. See [File.SetDeadline].
func (f *File) SetWriteDeadline(t time.Time) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.SetWriteDeadline(t)
}

// Chmod changes the file's mode, as [os.File.Chmod] does, and returns the same errors.
func (f *File) Chmod(mode fs.FileMode) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Chmod(mode)
}

// Chown changes the file's owner and group, as [os.File.Chown] does, and returns the same errors.
func (f *File) Chown(uid, gid int) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Chown(uid, gid)
}

// Chdir changes the current working directory to the file, which must be a directory, as
// [os.File.Chdir] does, and returns the same errors.
func (f *File) Chdir() error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.file.Chdir()
}

// ReadDir reads the entries of the directory f, as [os.File.ReadDir] does, and returns the same
// errors.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.file.ReadDir(n)
}

// Readdir reads the entries of the directory f with their FileInfo, as [os.File.Readdir] does,
// and returns the same errors.
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.file.Readdir(n)
}

// Readdirnames reads the names in the directory f, as [os.File.Readdirnames] does, and returns
// the same errors.
func (f *File) Readdirnames(n int) (names []string, err error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.file.Readdirnames(n)
}
