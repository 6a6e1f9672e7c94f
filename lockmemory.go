package mmapfile

import (
	"errors"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

// LockMemory keeps the n bytes at off in memory until [File.UnlockMemory] or Close. It maps
// the file if necessary. It locks whole pages, including those that are partly in the
// range, up to the end of the file. A file that has grown must be locked again. Locks do
// not nest: one call unlocks what was locked twice.
//
// An error is a *[fs.PathError] with Op "lock". It wraps [fs.ErrInvalid] for a negative off
// or n, [os.ErrClosed], or the system's error. If the file cannot be mapped, or the
// platform has no such call, that is [errors.ErrUnsupported]. Over RLIMIT_MEMLOCK it is
// ENOMEM or EPERM (mlock(2)). On Windows the working set is the limit (VirtualLock). After
// an error no page of the range is locked, not even those that an earlier call had locked.
func (f *File) LockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("lock", fs.ErrInvalid)
	}
	m, p, from, err := f.pagesAt(off, n, false)
	if err == nil && len(p) > 0 {
		if err = f.onPages(m, func() error { return sys.LockMemory(p) }); err != nil {
			f.unlock(from, int64(len(p)))
		}
	}
	if err != nil {
		return f.fail("lock", err)
	}
	return nil
}

// UnlockMemory undoes [File.LockMemory] for the pages of the n bytes at off. A page that is
// not locked is no error. Errors are those of LockMemory, with Op "unlock".
func (f *File) UnlockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	err := fs.ErrInvalid
	switch {
	case off < 0 || n < 0:
	case f.visibleLen() < 0:
		err = f.noSize()
	case !canMap:
		err = errors.ErrUnsupported
	default:
		if err = f.unlock(off, n); err == nil {
			return nil
		}
	}
	return f.fail("unlock", err)
}

// unlock unlocks the pages of n bytes at off in every mapping: the file may
// have been longer, or shorter, when they were locked.
func (f *file) unlock(off, n int64) (err error) {
	f.lockMappings()
	defer f.unlockMappings()
	page := int64(pageSize)
	for m := f.m.Load(); m != nil; m = m.prev {
		from, end := off&^(page-1), int64(len(m.data))
		if n <= end-off {
			end = min((off+n+page-1)&^(page-1), end)
		}
		if from >= end || n == 0 {
			continue
		}
		if e := sys.UnlockMemory(m.data[from:end]); err == nil {
			err = e
		}
	}
	return err
}
