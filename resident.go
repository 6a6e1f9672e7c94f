package mmapfile

import (
	"errors"
	"io/fs"
	"os"
)

// LockMemory keeps the n bytes at off in memory until [File.UnlockMemory] or
// Close, and maps the file if need be. The lock is one of whole pages, those that the range begins and ends in included,
// and ends at the end of the file; a file that has grown has to be locked again. Locks do not
// count: what was locked twice is unlocked by one call.
//
// It may be called concurrently with everything, Close included. An error is a
// *[fs.PathError] with Op "lock": [fs.ErrInvalid] for a negative off or n,
// [os.ErrClosed], [errors.ErrUnsupported] for what cannot be mapped and on platforms without
// such a call, or the system's, ENOMEM or EPERM over RLIMIT_MEMLOCK (mlock(2)); on Windows
// the working set is the limit (VirtualLock). After an error no page of the
// range is locked, not even those that an earlier call had locked.
func (f *File) LockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.eachPage("lock", off, n, func(m *mapping, p []byte, _ int64) error {
		err := lockMemory(p)
		if err != nil || f.m.Load() == nil {
			unlockMemory(p)
		}
		return err
	})
}

// UnlockMemory ends what [File.LockMemory] did, for the pages of the n bytes
// at off. That they were not locked is no error. It may be called concurrently with
// everything, Close included; errors are those of LockMemory, with Op "unlock".
func (f *File) UnlockMemory(off, n int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	return f.eachPage("unlock", off, n, func(m *mapping, p []byte, off int64) error {
		err := unlockMemory(p)
		for m = m.prev; m != nil; m = m.prev { // locked before the file grew
			if end := min(off+int64(len(p)), int64(len(m.data))); off < end && err == nil {
				err = unlockMemory(m.data[off:end])
			}
		}
		return err
	})
}

// eachPage calls fn with the memory of all pages that n bytes at off lie in.
func (f *File) eachPage(op string, off, n int64, fn func(m *mapping, p []byte, off int64) error) error {
	if off < 0 || n < 0 {
		return f.fail(op, fs.ErrInvalid)
	}
	m, p, off, err := f.span(off, n, false)
	if err == nil && len(p) > 0 {
		if err = fn(m, p, off); f.m.Load() == nil {
			err = os.ErrClosed // the memory may not have been the file's any more
		}
	}
	if err != nil {
		return f.fail(op, err)
	}
	return nil
}

// Resident returns how many of the n bytes at off are in memory, as far as the
// file reaches, at this moment. It may be called concurrently with
// everything, Close included, and leaves everything where it is.
//
// An error is a *[fs.PathError] with Op "resident": [fs.ErrInvalid] for a
// negative off or n, [os.ErrClosed], [errors.ErrUnsupported] for what is not a
// regular file and where the platform does not tell (Windows, OpenBSD, Solaris, AIX), or the
// system's. Linux says it of the page cache (cachestat(2)), from 6.5 on, and of some files to
// their owner or writer alone (EPERM); before that, and elsewhere, it is
// mincore(2), which needs a mapping.
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
	total, err := pagesIn(off, min(off+n, int64(len(m.data))), func(off, end int64) (int64, error) {
		return residentPages(m.data[off&^int64(pageSize-1) : end])
	})
	if f.m.Load() == nil {
		return 0, os.ErrClosed
	}
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
