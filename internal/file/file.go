// Package file answers a call whole from memory that is proven to be the file's, or whole by the
// inner file.
package file

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/closemutex"
	"go.dw1.io/mmapfile/internal/copies"
	"go.dw1.io/mmapfile/internal/cursor"
	"go.dw1.io/mmapfile/internal/flush"
	"go.dw1.io/mmapfile/internal/length"
	"go.dw1.io/mmapfile/internal/mtime"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/rangelock"
)

// File is the state of an open file, and answers the calls of mmapfile.File. Every call reads the
// first block of fields, and few write it, so that readers on several cores share its cache line.
//
// Locks are taken in this order: those of the flusher, cur, those of writes in
// ascending order, mu. No lock is taken while one of these is held: those of copies, order,
// mtime, length, pages and stored pages. Two locks of all Files come last: collecting and, on
// Windows, placing.
type File struct {
	inner  *os.File
	m      atomic.Pointer[mapping] // what calls may use; nil while not mapped and after Close
	length length.Length
	pages  pages.Pages

	variant     *flush.Flusher[File] // nil if plain; &copyOnWrite if private; or it carries out the FlushPolicy
	immutable   bool                 // Options promised that no other program changes the file
	wholeWrites bool                 // Options asked that all writes are system calls
	never       atomic.Bool          // the file cannot be mapped: stop trying
	storage     atomic.Uint32        // sys.Storage once asked; 0 before

	cur    cursor.Cursor                 // who holds the offset of Read, Write and Seek
	writes rangelock.Gate[pages.Writes]  // which writes may go to the mapping
	copies atomic.Pointer[copies.Copies] // without mappings, what Bytes has returned

	mu         closemutex.Mutex // mapping, truncating, closing; if closeNeedsLock, readers hold it
	osReturned atomic.Bool      // OS has returned the inner file, which its caller may close

	flag int // given to the open call of this package; -1 if other code opened the file
	cold atomic.Pointer[cold]
}

// The locks of writes, each with the count of the mapped writes under it.
type (
	rangeLocks = rangelock.Locks[pages.Writes]
	rangeLock  = rangelock.Lock[pages.Writes]
)

// cold is the part of a file that most files do not need: memory is most of what opening one costs
// more than os.File. The first call that needs it allocates it.
type cold struct {
	residencyUnknown atomic.Bool                        // the system cannot report what is in memory
	order            readOrder                          // whether the system was told that the file is read in order
	viewed           atomic.Int64                       // the offset after what preread was last asked for
	mtime            mtime.Period                       // what the kernel does at a write, for mapped ones
	atClose          *mapping                           // under mu: what m was at Close, for Guard
	guards           int                                // under mu, if closeNeedsLock: calls of Guard that keep the memory mapped
	entries          func(list []fs.DirEntry, all bool) // set if DirFS has opened a directory: what to do with its entries
}

// needCold returns the cold part of f.
func (f *File) needCold() *cold {
	if c := f.cold.Load(); c != nil {
		return c
	}
	return f.makeCold()
}

func (f *File) makeCold() *cold {
	f.cold.CompareAndSwap(nil, new(cold))
	return f.cold.Load()
}

// Init makes f the File of inner, which was opened with flag. A negative flag means that other code
// opened it. Then another process or a duplicate may share the descriptor. It must see the
// offset move, so the cursor stays in the kernel, and may have writes append, so none is
// mapped. The cursor also stays there if flag has writes append, because they move it.
func Init(f *File, inner *os.File, flag int) {
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
}

// Promise sets what Options promise or ask for. It is called before f is used.
func Promise(f *File, immutable, wholeWrites bool) {
	f.immutable, f.wholeWrites = immutable, wholeWrites
}

// SetEntries has ReadDir call fn with the entries of the directory f that it returns. all says that
// they are the whole directory.
func SetEntries(f *File, fn func(list []fs.DirEntry, all bool)) { f.needCold().entries = fn }

// Of returns the File of v if v is an mmapfile.File, which may be nil. Package mmapfile sets it.
var Of = func(v any) (f *File, ok bool) { return nil, false }

// fail wraps err as os.File would: with the operation and the file's name.
func (f *File) fail(op string, err error) error {
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
