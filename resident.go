package mmapfile

import (
	"errors"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

// Resident returns how many of the n bytes at off are in memory at this moment, up to the
// end of the file. It neither loads nor evicts pages.
//
// An error is a *[fs.PathError] with Op "resident". It wraps [fs.ErrInvalid] for a negative
// off or n, [os.ErrClosed], or the system's error. It wraps [errors.ErrUnsupported] if f is
// not a regular file, and on platforms that do not tell (Windows, OpenBSD, Solaris, AIX).
//
// On Linux 6.5 and later, Resident looks at the page cache (cachestat(2)). For some files
// Linux refuses that to all but the owner or a writer (EPERM). Before 6.5, and on other
// platforms, it is mincore(2), which needs a mapping.
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
	size := f.visibleLen()
	if size < 0 {
		return 0, f.noSize()
	}
	if n = min(n, size-off); n <= 0 {
		return 0, nil
	}
	if !f.private { // a private File's own pages are not the file's
		total, err := pagesIn(off, off+n, func(off, end int64) (int64, error) { return sys.CachedPages(f.inner, off, end-off) })
		if !errors.Is(err, errors.ErrUnsupported) {
			return total, err
		}
	}
	m, _, _, err := f.pagesAt(off, n, false)
	if err != nil || m == nil {
		return 0, err
	}
	total := int64(0)
	err = f.onPages(m, func() (err error) {
		total, err = pagesIn(off, min(off+n, int64(len(m.data))), func(off, end int64) (int64, error) {
			return sys.ResidentPages(m.data[off&^int64(pageSize-1) : end])
		})
		return err
	})
	return total, err
}

// pagesIn adds up the bytes from off to end in pages that count counts. So the partial
// pages at both ends are counted separately.
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
