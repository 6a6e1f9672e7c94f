package file

import (
	"errors"
	"io/fs"

	"go.dw1.io/mmapfile/internal/vm"
)

// LockMemory is the method of mmapfile.File.
func (f *File) LockMemory(off, n int64) error {
	if off < 0 || n < 0 {
		return f.fail("lock", fs.ErrInvalid)
	}
	m, p, from, err := f.pagesAt(off, n, false)
	if err == nil && len(p) > 0 {
		if err = f.onPages(m, func() error { return vm.Memory.Lock(p) }); err != nil {
			f.unlock(from, int64(len(p)))
		}
	}
	if err != nil {
		return f.fail("lock", err)
	}
	return nil
}

// UnlockMemory is the method of mmapfile.File.
func (f *File) UnlockMemory(off, n int64) error {
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
func (f *File) unlock(off, n int64) (err error) {
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
		if e := vm.Memory.Unlock(m.data[from:end]); err == nil {
			err = e
		}
	}
	return err
}
