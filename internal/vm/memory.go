// Package vm has the address ranges of mappings.
//
// Invariant: a range once handed out shows its file or faults, until no goroutine can hold it: its
// File is closed and unreachable, or its lock keeps all calls out. It never shows memory of
// another owner.
package vm

import (
	"os"
	"sync/atomic"
)

// Platform has the calls of a system about the memory of files. Package mmapfile implements it in a
// file for each kind of system. Errors are the system's own.
type Platform interface {
	// Map maps the first length bytes of f, for writing if it can. Unless asked, for Bytes or
	// View, a process that locks all its memory does not lock this.
	Map(f *os.File, length int, write, asked bool) (data []byte, writable bool, err error)

	// MapPrivate maps the first length bytes of f copy on write.
	MapPrivate(f *os.File, length int, write bool) ([]byte, error)

	// Reserve makes the range inaccessible, and returns it. rest is what was reserved after it.
	Reserve(data, rest []byte) (held []byte)

	// MapReserved maps the first length bytes of f to the range held, which Reserve has returned,
	// and reserves the rest of it.
	MapReserved(f *os.File, held []byte, length int, write bool) (view, rest []byte, err error)

	// RefusesMapped reports whether err is the refusal to truncate a file that is mapped.
	RefusesMapped(err error) bool

	// Unmap gives a range back, and what is reserved after it.
	Unmap(data, rest []byte)

	// Flush writes changed pages back, if the system does not do that at fsync.
	Flush(data []byte) error

	// Refresh makes memory show what system calls have written, if the system does not do that by
	// itself.
	Refresh(data []byte)

	// Sync makes changed pages durable, if the system can do that for less than a file.
	Sync(data []byte) error

	// Advise gives one of the advices of internal/sys. If a page to be populated cannot be served,
	// the error is sys.ErrFault.
	Advise(data []byte, advice int) error

	// Prefault marks the pages of data, which show f at off, as written to. It fails if that would
	// fill a hole or separate blocks shared with another file.
	Prefault(f *os.File, data []byte, off int64) error

	// Lock keeps the pages in memory, until Unlock.
	Lock(data []byte) error
	Unlock(data []byte) error

	// Resident counts the pages that are in memory.
	Resident(data []byte) (pages int64, err error)
}

// Memory is the Platform of this process. Package mmapfile sets it.
var Memory Platform

var files atomic.Int64 // that are mapped

// Mapped reports whether any File is mapped.
func Mapped() bool { return ranges.Load() > reserved.Load() }

// Figures returns how many Files are mapped, the bytes of their ranges, and the bytes that closed
// Files keep reserved.
func Figures() (mapped, bytes, held int64) {
	held = reservedBytes.Load()
	return files.Load(), max(rangeBytes.Load()-held, 0), held
}
