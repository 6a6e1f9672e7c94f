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

// Storage is what the storage of a file means for a mapping of it: one of the kinds, and flags.
type Storage uint32

const (
	StorageLocal     Storage = iota + 1
	StorageRemote            // or unknown: changes by other machines may show in system calls alone
	StorageOverlay           // files open for reading alone may be replaced by a writer's copy
	StorageMemory            // a tmpfs, on which every file has the flag StorageSparse
	StorageOnRequest         // local, but a mapping restricts other programs: map for Bytes and View only

	// A write is durable when it returns, although the file's flags do not say so.
	StorageSync Storage = 1 << 8
	// A mapped write may be lost, or fail only after it has returned, so no call makes one.
	StorageNoWrites Storage = 1 << 9
	// Reading a hole of a mapping allocates memory for good.
	StorageSparse Storage = 1 << 10
)

// Kind returns s without flags.
func (s Storage) Kind() Storage { return s & 0xff }

// Access is what a descriptor allows.
type Access struct {
	Read, Write bool
	Plain       bool // a mapped write may replace a write: not O_APPEND, O_SYNC, O_DSYNC, O_DIRECT
	Direct      bool // O_DIRECT
}

// ErrFault is the error if a page to be populated cannot be served.
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

// lengthOf is Length by os.File.
func lengthOf(f *os.File) (size int64, regular bool, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	return fi.Size(), fi.Mode().IsRegular(), nil
}

// AlignedBytes returns n bytes aligned for a value of any type, as in a mapping.
func AlignedBytes(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))), n)
}
