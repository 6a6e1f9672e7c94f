package mmapfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// File is an open file with the methods of [os.File], which use a memory mapping if that is
// faster. Like os.File it is one pointer wide: a copy of a File is the same file.
//
// All methods, including Close, may be called concurrently. A call that loses a race with Close
// returns [os.ErrClosed] where os.File's would. A read at an offset takes no lock, except on
// Windows and if the File is private. Overlapping writes of one File are serialized. Read, Write
// and Seek share the cursor and are each atomic with respect to it. No lock is held while an
// [io.Reader] or [io.Writer] of the caller runs.
//
// When a write returns, other processes see the bytes, and a killed process does not lose them.
// If the process ends during a write, a part of that write may be in the file: of 60 processes
// killed while writing 4 KiB in a loop, up to 21 left one. With os.File that happens only to writes
// of several pages: see [Options].WholeWrites. A crash of the system can
// lose what was written after the last [File.Sync], unless the file was opened with [os.O_SYNC].
//
// To fail with an error such as [fs.ErrInvalid] means, here and below, to return a
// *[fs.PathError] for which [errors.Is] reports it.
type File struct {
	file *file.File // not to be copied by value, hence a pointer
}

// engine returns what answers the calls of f, which is nil if f is.
func (f *File) engine() *file.File {
	if f == nil {
		return nil
	}
	return f.file
}

func init() {
	vm.Memory = platform{}
	file.Of = func(v any) (*file.File, bool) {
		f, ok := v.(*File)
		return f.engine(), ok
	}
}

// newFile wraps inner, which was opened with flag: see [file.Init].
func newFile(inner *os.File, flag int) *File {
	f := unopened()
	file.Init(f.file, inner, flag)
	return f
}

// unopened returns a File and its engine. One allocation, because opening must cost what it costs
// with os.
func unopened() *File {
	o := new(struct {
		handle File
		state  file.File
	})
	o.handle.file = &o.state
	return &o.handle
}

// Open opens the named file for reading, as [os.Open] does. If it fails, the error is a
// *[fs.PathError] with Op "open". Opening maps nothing, and costs about what it costs with
// os.Open.
func Open(name string) (*File, error) {
	return OpenFile(name, os.O_RDONLY, 0)
}

// Create creates or truncates the named file for reading and writing, as [os.Create] does. If it
// fails, the error is a *[fs.PathError] with Op "open". The new directory entry is durable only
// once its directory has been synced, as with os.Create.
func Create(name string) (*File, error) {
	return OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is the general open call. Its name, flag, perm and errors are those of [os.OpenFile]:
// an error is a *[fs.PathError] with Op "open".
//
// A positive size makes the file at least that many bytes long, with its blocks allocated, so
// a full disk makes this call fail and not a later write. With [os.O_TRUNC] the old content is
// gone and the file reads as zeros. If a platform cannot allocate, zeros are appended. The
// allocation is durable after [File.Sync].
//
// A negative size fails with [fs.ErrInvalid], and so does a size above the length of a file that
// is not open for writing. After these errors, and if the system refuses the size at once, the
// file is unchanged, and not created unless another process has opened it meanwhile.
//
// If the disk fills up during the allocation, some blocks may stay allocated, and zeros may stay
// past the old end of the file. Linux frees what lies past the end if the caller owns the file
// and no other descriptor of it is open. Bytes that another process appends meanwhile are never
// lost, except on Plan 9, js and wasip1, which have no atomic append.
//
// [Options.OpenFile] takes more than a size: copy on write, or a [FlushPolicy]. Because size is
// variadic, OpenFile cannot replace os.OpenFile as a function value; Options{}.OpenFile can.
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

// CreateTemp creates a temporary file for reading and writing, as [os.CreateTemp] does, and
// returns the same errors. The caller removes the file.
func CreateTemp(dir, pattern string) (*File, error) {
	inner, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return newFile(inner, os.O_RDWR), nil
}

// OpenInRoot opens name in the directory dir for reading, as [os.OpenInRoot] does, and returns
// the same errors. It refuses a name that leads outside.
func OpenInRoot(dir, name string) (*File, error) {
	inner, err := os.OpenInRoot(dir, name)
	if err != nil {
		return nil, err
	}
	return newFile(inner, os.O_RDONLY), nil
}

// OpenRoot opens name in root, as [os.Root.OpenFile] does, and returns the same errors. Unlike
// [New] with such a file, it lets the File keep the cursor. root may be closed while the File is
// in use. If root is nil, OpenRoot returns [os.ErrInvalid]. It is not the counterpart of
// os.OpenRoot, which opens a directory.
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
	// Size is the last argument of OpenFile, in bytes.
	Size int64

	// Private maps the file copy-on-write, and opens it for reading only. With O_RDWR, writes and
	// stores are visible through this File alone, and discarded by Close. Its length is fixed.
	// O_WRONLY, O_TRUNC and O_APPEND are errors, and Flush has no effect. On a tmpfs, writes into
	// holes allocate zeros in the file.
	Private bool

	// Immutable promises that no program changes the file, which must be opened for reading only.
	// Then calls use a mapping also on overlayfs, network file systems, FUSE and Windows. If the
	// promise is broken, reads may return old bytes or an old length.
	Immutable bool

	// WholeWrites makes every write a system call. Then the end of the process tears none inside a
	// page, and none faults on a frozen file system. Reads and the cursor still use the mapping.
	WholeWrites bool

	// Flush says when written bytes are made durable without a call of Sync.
	Flush FlushPolicy
}

// OpenFile is the function [OpenFile] with the options o, and takes the same name, flag and perm.
// An invalid option fails with [fs.ErrInvalid], for example a negative number, or with
// [errors.ErrUnsupported].
//
// Its parameters are those of [os.OpenFile], so Options{}.OpenFile replaces os.OpenFile where a
// program keeps it as a function value.
func (o Options) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	if o.Size < 0 || o.Flush.Bytes < 0 || o.Flush.Interval < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: an option is negative", fs.ErrInvalid)}
	}
	if o.Immutable && flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC) != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: Immutable is for O_RDONLY", fs.ErrInvalid)}
	}
	if o.Private {
		f := unopened()
		if err := file.OpenPrivate(f.file, name, flag, perm, o.Size); err != nil {
			return nil, err
		}
		return f, nil
	}
	f, err := OpenFile(name, flag, perm, o.Size)
	if err == nil {
		file.Promise(f.file, o.Immutable, o.WholeWrites)
	}
	if err != nil || o.Flush == (FlushPolicy{}) || flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return f, err
	}
	if err := file.StartFlushes(f.file, file.FlushPolicy(o.Flush)); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return f, nil
}

// New returns a File that takes over f, an open file of any kind, at its current offset. The
// caller must not use f again, and closes the File instead. If f is nil, New returns
// [os.ErrInvalid]. If f is closed, the first call on the File returns the error.
//
// Another process or a duplicate may hold the same open file and see its offset, so the cursor
// stays in the kernel: Read, Seek and all writes are system calls, as with os.File, while ReadAt,
// Bytes and View use the mapping.
func New(f *os.File) (*File, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return newFile(f, -1), nil
}

// NewFile returns a File for the descriptor fd, or nil if fd is not valid, as [os.NewFile] does.
// The cursor stays in the kernel, as with [New].
func NewFile(fd uintptr, name string) *File {
	f := os.NewFile(fd, name)
	if f == nil {
		return nil
	}
	return newFile(f, -1)
}

// cause returns the error inside a *fs.PathError.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
