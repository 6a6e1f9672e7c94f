package mmapfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/closemutex"
	"go.dw1.io/mmapfile/internal/cursor"
	"go.dw1.io/mmapfile/internal/length"
	"go.dw1.io/mmapfile/internal/mtime"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/rangelock"
	"go.dw1.io/mmapfile/internal/sys"
)

// File is an open file with the methods of [os.File], answered from a memory mapping if
// that is faster. Like os.File it is one pointer wide: a copy of a File is the same file.
//
// Every method may be called from any number of goroutines, including Close. After a lost
// race against Close the error is [os.ErrClosed] ([errors.Is]), if os.File's is. A read at
// an offset takes no lock, except on Windows and if the File is private. Overlapping writes
// of one File are serialized. Read, Write and Seek share the cursor and are each atomic
// with respect to it. No lock is held while an [io.Reader] or [io.Writer] of the caller
// runs.
//
// Written bytes are in the file when the call returns: other processes see them, and a
// killed process loses none. A crash of the system can lose what was written after the last
// [File.Sync], unless the file was opened with [os.O_SYNC].
type File struct {
	*file // not to be copied by value, hence a pointer
}

// file is what a File points to. Every call reads the first block, and few write it, so
// that readers on several cores share its cache line.
//
// Locks are taken in this order: flusher.gate, flusher.mu, cur, those of writes in
// ascending order, mu. No lock is taken while one of these is held: copies.mu, and those of
// order, mtime and length. Two locks of all Files come last: collecting and, on Windows,
// placing.
type file struct {
	inner  *os.File
	m      atomic.Pointer[mapping] // what calls may use; nil while not mapped and after Close
	length length.Length
	pages  pages.Pages

	flusher   *flusher      // its FlushPolicy; nil if it has none
	private   bool          // copy on write: see private.go
	immutable bool          // Options promised that no other program changes the file
	never     atomic.Bool   // the file cannot be mapped: stop trying
	storage   atomic.Uint32 // sys.Storage once asked; 0 before

	cur    cursor.Cursor          // who holds the offset of Read, Write and Seek
	writes rangelock.Gate         // which writes may go to the mapping
	copies atomic.Pointer[copies] // without mappings, what Bytes has returned

	mu         closemutex.Mutex // mapping, truncating, closing; if closeNeedsLock, readers hold it
	osReturned atomic.Bool      // OS has returned the inner file, which its caller may close

	flag int // given to the open call of this package; -1 if other code opened the file
	cold atomic.Pointer[cold]
}

// cold is the part of a file that most files do not need: memory is most of what opening one costs
// more than os.File. The first call that needs it allocates it.
type cold struct {
	residencyUnknown atomic.Bool  // the system cannot report what is in memory
	order            readOrder    // whether the system was told that the file is read in order
	viewed           atomic.Int64 // the offset after what preread was last asked for
	mtime            mtime.Period // what the kernel does at a write, for mapped ones
	atClose          *mapping     // under mu: what m was at Close, for Guard
	guards           int          // under mu, if closeNeedsLock: calls of Guard that keep the memory mapped
	dir              *dirPath     // set if DirFS has opened a directory
}

// needCold returns the cold part of f.
func (f *file) needCold() *cold {
	if c := f.cold.Load(); c != nil {
		return c
	}
	f.cold.CompareAndSwap(nil, new(cold))
	return f.cold.Load()
}

// newFile wraps inner, which was opened with flag. A negative flag means that other code
// opened it. Then another process or a duplicate may share the descriptor. It must see the
// offset move, so the cursor stays in the kernel, and may have writes append, so none is
// mapped. The cursor also stays there if flag has writes append, because they move it.
func newFile(inner *os.File, flag int) *File {
	// One allocation, because opening must cost what it costs with os.
	o := new(struct {
		handle File
		state  file
	})
	o.handle.file = &o.state
	f := &o.state
	f.inner, f.flag = inner, flag
	if flag > 0 && flag&os.O_WRONLY != 0 {
		f.never.Store(true) // a mapping is read, too
	}
	if flag < 0 {
		f.writes.Retire()
	}
	if flag < 0 || flag&os.O_APPEND != 0 {
		f.cur.StayInKernel()
	}
	return &o.handle
}

// Open opens the named file for reading, as [os.Open] does. A failure is a *[fs.PathError]
// with Op "open". Opening maps nothing, and costs about what it costs with os.Open; the file
// is mapped once that pays.
func Open(name string) (*File, error) {
	return OpenFile(name, os.O_RDONLY, 0)
}

// Create creates or truncates the named file for reading and writing, as [os.Create] does.
// A failure is a *[fs.PathError] with Op "open". The new directory entry is durable only
// once its directory has been synced, as with os.Create.
func Create(name string) (*File, error) {
	return OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is the general open call. Its name, flag, perm and errors are those of
// [os.OpenFile]: a failure is a *[fs.PathError] with Op "open".
//
// A positive size makes the file at least that many bytes long, with its blocks allocated.
// So a full disk is an error here and not at a later write. With [os.O_TRUNC] the old
// content is gone and the file reads as zeros. If a platform cannot allocate, the new part
// is written as zeros. The allocation is durable after [File.Sync].
//
// A negative size is [fs.ErrInvalid]. So is a size above the length of a file that is not
// open for writing. If the system refuses the size, the error is the system's. After each
// of these errors the file is unchanged, and a file that did not exist is not created.
//
// [Options.OpenFile] takes more than a size: copy on write, or a [FlushPolicy]. Its method
// value, Options{}.OpenFile, fits where a program assigns os.OpenFile. OpenFile itself does
// not, because of size.
func OpenFile(name string, flag int, perm fs.FileMode, size ...int64) (*File, error) {
	want := int64(0)
	if len(size) > 0 {
		want = size[0]
	}
	var inner *os.File
	var err error
	switch {
	case want == 0 && len(size) < 2:
		inner, err = os.OpenFile(name, flag, perm)
	case want < 0 || len(size) > 1:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	default:
		if inner, err = sys.OpenSized(name, flag, perm, want); err != nil {
			err = &fs.PathError{Op: "open", Path: name, Err: cause(err)}
		}
	}
	if err != nil {
		return nil, err
	}
	return newFile(inner, flag), nil
}

// CreateTemp creates a temporary file for reading and writing, as [os.CreateTemp] does,
// with its errors. The caller removes the file.
func CreateTemp(dir, pattern string) (*File, error) {
	inner, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return newFile(inner, os.O_RDWR), nil
}

// OpenInRoot opens name in the directory dir for reading, as [os.OpenInRoot] does, with its
// errors. A name that leads outside is refused.
func OpenInRoot(dir, name string) (*File, error) {
	inner, err := os.OpenInRoot(dir, name)
	if err != nil {
		return nil, err
	}
	return newFile(inner, os.O_RDONLY), nil
}

// OpenRoot opens name in root, as [os.Root.OpenFile] does, with its errors. Unlike with [New]
// of such a file, the File keeps the cursor. root may be closed while the File is in use. A
// nil root is [os.ErrInvalid].
func OpenRoot(root *os.Root, name string, flag int, perm fs.FileMode) (*File, error) {
	if root == nil {
		return nil, os.ErrInvalid
	}
	inner, err := root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return newFile(inner, flag), nil
}

// Options holds what does not fit into the flags of an open call. The zero value acts as
// [OpenFile] without a size.
type Options struct {
	// Size is the last argument of OpenFile, in bytes. A shorter file is extended to it,
	// with its blocks allocated.
	Size int64

	// Private opens the file copy on write: what is written, or stored into its memory, is
	// seen through this File alone, and is gone after Close. The file is opened for reading
	// only. It must be a regular file, and the File keeps its length. O_WRONLY, O_TRUNC and
	// O_APPEND are errors, and Flush has no effect.
	Private bool

	// Immutable promises that no program changes the file while this File is open. Then calls
	// use a mapping also on overlayfs, network file systems, FUSE and Windows. The file must
	// be open for reading only. If the promise is broken, reads may return old bytes or an
	// old length.
	Immutable bool

	// Flush says when written bytes are made durable without a call of Sync.
	Flush FlushPolicy
}

// OpenFile is the function [OpenFile] with the options o. The name, flag, perm and errors
// are the same. An invalid option is a *[fs.PathError] with Op "open". It wraps
// [fs.ErrInvalid], for example for a negative number, or [errors.ErrUnsupported].
//
// It has the parameters of [os.OpenFile]. So Options{}.OpenFile replaces os.OpenFile where a
// program keeps it as a function value.
func (o Options) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	if o.Size < 0 || o.Flush.Bytes < 0 || o.Flush.Interval < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: an option is negative", fs.ErrInvalid)}
	}
	if o.Immutable && flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC) != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: Immutable is for O_RDONLY", fs.ErrInvalid)}
	}
	if o.Private {
		return openPrivate(name, flag, perm, o.Size)
	}
	f, err := OpenFile(name, flag, perm, o.Size)
	if err == nil {
		f.immutable = o.Immutable
	}
	if err != nil || o.Flush == (FlushPolicy{}) || flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return f, err
	}
	if err := f.startFlushes(o.Flush); err != nil {
		f.inner.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return f, nil
}

// New takes over f, an open file of any kind, at its current offset. The caller must not
// use f again, and closes the File instead. A nil f is [os.ErrInvalid]. If f is closed,
// the first call on the File returns the error.
//
// Another process or a duplicate may hold the same open file and see its offset, so the
// cursor stays in the kernel. Read, Seek and all writes are system calls, as with os.File,
// while ReadAt, Bytes and View use the mapping.
func New(f *os.File) (*File, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return newFile(f, -1), nil
}

// NewFile returns a File for the descriptor fd, or nil if fd is not valid, as [os.NewFile]
// does. The descriptor is shared, as the file given to [New] is.
func NewFile(fd uintptr, name string) *File {
	f := os.NewFile(fd, name)
	if f == nil {
		return nil
	}
	return newFile(f, -1)
}

// fail wraps err as os.File would: with the operation and the file's name.
func (f *file) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.inner.Name(), Err: err}
}

// cause returns the error inside a *fs.PathError.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
