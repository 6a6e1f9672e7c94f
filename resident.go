package mmapfile

import (
	"errors"
	"io/fs"
	"os"
)

// LockMemory keeps the n bytes at off in memory until [File.UnlockMemory] or
// Close, and maps the file if need be. The lock is one of whole pages, those
// that the range begins and ends in included, and ends at the end of the file;
// a file that has grown has to be locked again. Locks do not count: what was
// locked twice is unlocked by one call.
//
// It may be called concurrently with everything, Close included. An error is a
// *[fs.PathError] with Op "lock": [fs.ErrInvalid] for a negative off or n,
// [os.ErrClosed], [errors.ErrUnsupported] for what cannot be mapped and on
// platforms without such a call, or the system's, ENOMEM or EPERM over
// RLIMIT_MEMLOCK (mlock(2)); on Windows the working set is the limit
// (VirtualLock). After an error no page of the range is locked, not even those
// that an earlier call had locked.
func (f *File) LockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return f.fail("lock", fs.ErrInvalid)
	}
	m, p, from, err := f.span(off, n, false)
	if err == nil && len(p) > 0 {
		if err = f.onPages(m, func() error { return lockMemory(p) }); err != nil {
			f.unlock(from, int64(len(p)))
		}
	}
	if err != nil {
		return f.fail("lock", err)
	}
	return nil
}

// UnlockMemory ends what [File.LockMemory] did, for the pages of the n bytes at
// off. That they were not locked is no error. It may be called concurrently
// with everything, Close included; errors are those of LockMemory, with Op
// "unlock".
func (f *File) UnlockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	err := fs.ErrInvalid
	switch {
	case off < 0 || n < 0:
	case f.ask() < 0:
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
	if locked {
		f.mu.RLock()
		defer f.mu.RUnlock()
	}
	page := int64(pageSize)
	for m := f.m.Load(); m != nil; m = m.prev {
		from, end := off&^(page-1), int64(len(m.data))
		if n <= end-off {
			end = min((off+n+page-1)&^(page-1), end)
		}
		if from >= end || n == 0 {
			continue
		}
		if e := unlockMemory(m.data[from:end]); err == nil {
			err = e
		}
	}
	return err
}

// Resident returns how many of the n bytes at off are in memory, as far as the
// file reaches, at this moment. It may be called concurrently with everything,
// Close included, and leaves everything where it is.
//
// An error is a *[fs.PathError] with Op "resident": [fs.ErrInvalid] for a
// negative off or n, [os.ErrClosed], [errors.ErrUnsupported] for what is not a
// regular file and where the platform does not tell (Windows, OpenBSD, Solaris,
// AIX), or the system's. Linux says it of the page cache (cachestat(2)), from
// 6.5 on, and of some files to their owner or writer alone (EPERM); before
// that, and elsewhere, it is mincore(2), which needs a mapping.
func (f *File) Resident(off, n int64) (int64, error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if off < 0 || n < 0 {
		return 0, f.fail("resident", fs.ErrInvalid)
	}
	total, err := f.resident(off, n)
	if err != nil {
		return 0, f.fail("resident", err)
	}
	return total, nil
}

func (f *file) resident(off, n int64) (int64, error) {
	size := f.ask()
	if size < 0 {
		return 0, f.noSize()
	}
	if n = min(n, size-off); n <= 0 {
		return 0, nil
	}
	if !f.private { // whose own pages are not the file's
		total, err := pagesIn(off, off+n, func(off, end int64) (int64, error) { return cachedPages(f.inner, off, end-off) })
		if !errors.Is(err, errors.ErrUnsupported) {
			return total, err
		}
	}
	m, _, _, err := f.span(off, n, false)
	if err != nil || m == nil {
		return 0, err
	}
	total := int64(0)
	err = f.onPages(m, func() (err error) {
		total, err = pagesIn(off, min(off+n, int64(len(m.data))), func(off, end int64) (int64, error) {
			return residentPages(m.data[off&^int64(pageSize-1) : end])
		})
		return err
	})
	return total, err
}

// pagesIn adds up the bytes from off to end that lie in the pages that count
// counts. So the pieces of pages at both ends are counted apart.
func pagesIn(off, end int64, count func(off, end int64) (int64, error)) (total int64, err error) {
	page := int64(pageSize)
	for off < end {
		next := min(off&^(page-1)+page, end)
		if off%page == 0 && end-off >= page {
			next = end &^ (page - 1)
		}
		pages, err := count(off, next)
		if err != nil {
			return 0, err
		}
		total += min(pages*page, next-off)
		off = next
	}
	return total, nil
}
