// Package logdisk is the disk of a log: all that eventlog and raftlog ask of a file system, and of the
// goroutines that wait for it. Tests put a simulated disk in place of the real one.
package logdisk

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Disk has the files of logs by name. Its methods are those of package os, except as noted.
type Disk interface {
	// OpenFile opens a file, or a directory for SyncNames.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)

	// Stat is os.Stat, and SameFile compares the files that had the names then.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	SameFile(a, b fs.FileInfo) bool
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error

	// RealPath is filepath.EvalSymlinks.
	RealPath(name string) (string, error)
}

// File is an open file. Methods that are not explained here are those of *os.File.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error

	// Length returns the length of the file, which is not closed meanwhile. It does not allocate.
	Length() (int64, error)

	// Allocate makes a file longer, with blocks. [errors.ErrUnsupported] says that the file system cannot.
	Allocate(from, to int64) error

	// Memory returns the file as mapped memory, or nil if it is not mapped. An earlier result stays valid
	// until Close, and shows the same file.
	Memory() []byte

	// Resident returns how many bytes are in memory, and ReadAhead reads them into memory.
	Resident(off, n int64) (int64, error)
	ReadAhead(off, n int64)

	// Flush makes the file durable, FlushData without the times of it, and FlushRange a part of its content.
	Flush() error
	FlushData() error
	FlushRange(off, n int64) error

	// SyncNames makes the names in a directory durable, if the system can do that.
	SyncNames() error

	// Stored flushes the file, and drops its pages, so that the file reads what the disk has. If some
	// may have stayed, because another process maps them, it returns a reader of the disk.
	Stored() (Stored, error)

	// NextData returns the first range of data at or after off, or io.EOF after the last.
	// [errors.ErrUnsupported] says that the system does not know.
	NextData(off int64) (from, to int64, err error)

	// CopyRange copies n bytes at off from another file to the same place. Blocks may be shared, unless plain is set.
	CopyRange(from File, off, n int64, plain bool) (int64, error)

	// Lock locks the file for this process, or returns [ErrLocked]. Unlock releases the lock before Close.
	Lock() error
	Unlock()
}

// Stored reads what the disk has of a file, and not the page cache. It is nil if the file reads the same.
type Stored interface {
	io.ReaderAt
	io.Closer
}

// ErrLocked is the error of Lock if another open file has the lock.
var ErrLocked = errors.New("locked elsewhere")

// mount is a disk that has the files whose names begin with a prefix.
type mount struct {
	prefix string
	disk   Disk
}

var mounts atomic.Pointer[[]mount]

// Mount puts a disk in place of the real one for names with a prefix, until unmount is called. It is for
// tests, one at a time.
func Mount(prefix string, d Disk) (unmount func()) {
	old := mounts.Load()
	list := []mount{{prefix, d}}
	if old != nil {
		list = append(list, *old...)
	}
	mounts.Store(&list)
	return func() { mounts.Store(old) }
}

func of(name string) Disk {
	if list := mounts.Load(); list != nil {
		for _, m := range *list {
			if strings.HasPrefix(name, m.prefix) {
				return m.disk
			}
		}
	}
	return Real
}

func OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	return of(name).OpenFile(name, flag, perm)
}

func Stat(name string) (fs.FileInfo, error)      { return of(name).Stat(name) }
func Lstat(name string) (fs.FileInfo, error)     { return of(name).Lstat(name) }
func ReadDir(name string) ([]fs.DirEntry, error) { return of(name).ReadDir(name) }
func Mkdir(name string, perm fs.FileMode) error  { return of(name).Mkdir(name, perm) }
func Rename(from, to string) error               { return of(from).Rename(from, to) }
func Remove(name string) error                   { return of(name).Remove(name) }
func RealPath(name string) (string, error)       { return of(name).RealPath(name) }

// Same reports whether a name leads to the file that fi describes.
func Same(name string, fi fs.FileInfo) (bool, error) {
	d := of(name)
	now, err := d.Stat(name)
	return err == nil && d.SameFile(now, fi), err
}

// Word returns the first word of mapped memory, or nil if there is none.
func Word(mem []byte) *uint64 {
	if len(mem) < 8 {
		return nil
	}
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(mem))) // a page begins there
}

// RemoveAll removes a directory and the files in it, if it is there.
func RemoveAll(dir string) error {
	files, err := ReadDir(dir)
	for _, f := range files {
		err = errors.Join(err, Remove(filepath.Join(dir, f.Name())))
	}
	if err == nil {
		err = Remove(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Truncate is os.Truncate.
func Truncate(name string, size int64) error {
	f, err := OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// Reader reads a file from its beginning.
func Reader(f io.ReaderAt) io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }
