// Package sys has the system calls that os and golang.org/x/sys lack, or have in another
// form on each system. It uses only files and memory, and nothing of package mmapfile.
//
// Each function has the same name everywhere. What a system cannot do is
// [errors.ErrUnsupported]. Under the build tag nommap most functions return that.
package sys

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// Storage is the kind of storage of a file, if that affects what a mapping may do.
type Storage int

const (
	StorageLocal     Storage = iota + 1
	StorageRemote            // or unknown: changes by other machines may show in system calls alone
	StorageOverlay           // files open for reading alone may be replaced by a writer's copy
	StorageMemory            // a tmpfs, on which reading a hole of a mapping allocates memory for good
	StorageOnRequest         // local, but a mapping restricts other programs: map for Bytes and View only
)

// Access is what a descriptor allows.
type Access struct {
	Read, Write bool
	Plain       bool // a mapped write may replace a write: not O_APPEND, O_SYNC, O_DSYNC, O_DIRECT
	Direct      bool // O_DIRECT
}

// ErrLocked is the error of [Lock] if another descriptor has the lock.
var ErrLocked = errors.New("locked elsewhere")

// ErrFault is the error of [Advise] if a page to be populated cannot be served.
var ErrFault = errors.New("page fault")

// Borrow calls fn with the descriptor or handle of c, which cannot be closed meanwhile, and
// returns the error of fn. If c is closed, it does not call fn, and the error is
// [os.ErrClosed]. The error of [syscall.RawConn] is not: os does not export what it is.
func Borrow(c syscall.Conn, fn func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) { err = fn(int(fd)) })
	switch {
	case cerr == nil:
		return err
	case errors.Is(cerr, errors.ErrUnsupported): // Plan 9
		return cerr
	}
	return os.ErrClosed
}

// AlignedBytes returns n bytes aligned for a value of any type, as in a mapping.
func AlignedBytes(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))), n)
}
