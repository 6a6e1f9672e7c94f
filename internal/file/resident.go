package file

import (
	"errors"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// Resident is the method of mmapfile.File.
func (f *File) Resident(off, n int64) (int64, error) {
	if off < 0 || n < 0 {
		return 0, f.fail("resident", fs.ErrInvalid)
	}
	total, err := f.resident(off, n)
	if err != nil {
		return 0, f.fail("resident", err)
	}
	return total, nil
}

func (f *File) resident(off, n int64) (int64, error) {
	size := f.visibleLen()
	if size < 0 {
		return 0, f.noSize()
	}
	if n = min(n, size-off); n <= 0 {
		return 0, nil
	}
	if !f.private() && f.storageOf().Kind() != sys.StorageOverlay { // a private File's own pages are not the file's
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
			return vm.Memory.Resident(m.data[off&^int64(pageSize-1) : end])
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

// residencyUnknown reports whether the system cannot report what is in memory.
func (f *File) residencyUnknown() bool {
	c := f.cold.Load()
	return c != nil && c.residencyUnknown.Load()
}

// inMemory reports whether the file's pages from off to end are in memory.
func (f *File) inMemory(off, end int64) (in bool, err error) { return f.asks(off, end, false) }

// asks is inMemory. If reading is set, pages count that are still being read.
func (f *File) asks(off, end int64, reading bool) (in bool, err error) {
	switch {
	case f.residencyUnknown():
		return false, errResidencyUnknown
	case f.storageOf().Kind() == sys.StorageMemory, // where RWF_NOWAIT is not supported, and no page is being read
		reading && f.storageOf().Kind() != sys.StorageOverlay:
		page := int64(pageSize)
		var n int64
		n, err = sys.CachedPages(f.inner, off, end-off)
		in = n >= (end+page-1)/page-off/page
	case f.storageOf().Kind() == sys.StorageOverlay: // whose page cache is that of another file
		m, page := f.m.Load(), int64(pageSize)
		if m == nil || end > int64(m.usable) || f.flag < 0 || f.flag&os.O_RDWR == 0 { // mincore tells writers alone
			return false, nil
		}
		var n int64
		n, err = vm.Memory.Resident(m.data[off&^(page-1) : end])
		in = n >= (end+page-1)/page-off/page
	default:
		in, err = sys.InMemory(f.inner, off, end-off)
	}
	if err != nil { // not even a refusal by a system call filter is worth another call
		f.needCold().residencyUnknown.Store(true)
	}
	return in, err
}

// cached reports whether the file's pages from off to end are known to be in memory.
func (f *File) cached(off, end int64) bool {
	in, err := f.inMemory(off, end)
	return err == nil && in
}

// mayTime reports whether a read of n bytes at off is known not to wait for the disk, so that its time is a measure. Where
// the system does not report what is in memory, every read is believed to be one.
func (f *File) mayTime(off int64, n int) bool {
	return f.cached(off, off+int64(n)) || f.residencyUnknown()
}

var errResidencyUnknown = errors.New("the system does not report what is in memory")
