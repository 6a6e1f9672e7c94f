package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// Advice tells the system how memory will be used. See [File.Advise].
type Advice int

const (
	Normal     Advice = sys.Normal     // cancels Sequential and Random
	Sequential Advice = sys.Sequential // read ahead further, and drop pages sooner after use
	Random     Advice = sys.Random     // read only the page of a fault; it slows down writing
	// WillNeed starts to read the range into memory, and does not wait. It maps nothing.
	WillNeed Advice = sys.WillNeed
	// DontNeed releases the pages of this mapping. The file and the page cache stay.
	// Locked pages must be unlocked first.
	DontNeed  Advice = sys.DontNeed
	HugePages Advice = sys.HugePages // use huge pages, if the file system has them
	// PopulateRead reads the range into memory and maps it, and waits. It slows down writing.
	PopulateRead Advice = sys.PopulateRead
	// PopulateWrite is PopulateRead for stores. The pages become dirty, so the file gets its
	// blocks and the next Sync writes the whole range. Pages of a private File are copied.
	PopulateWrite Advice = sys.PopulateWrite
)

var adviceNames = [...]string{
	Normal: "Normal", Sequential: "Sequential", Random: "Random", WillNeed: "WillNeed", DontNeed: "DontNeed",
	HugePages: "HugePages", PopulateRead: "PopulateRead", PopulateWrite: "PopulateWrite",
}

// String returns the name of the constant, or "Advice(n)" for a value without one.
func (a Advice) String() string {
	if a < Normal || a > PopulateWrite {
		return "Advice(" + strconv.Itoa(int(a)) + ")"
	}
	return adviceNames[a]
}

// Advise tells the system how n bytes at off will be used. It maps the file if
// necessary, except for WillNeed, and ignores the part of the range after the end of the file.
//
// DontNeed, PopulateRead and PopulateWrite apply to pages that are entirely inside the
// range; the last page of the file ends where the file ends. Other advice also applies to
// pages that are partly in it. A file that has grown much has a new mapping, which needs
// new advice.
//
// An error is a *[fs.PathError] with Op "advise":
//   - [fs.ErrInvalid] for a negative off or n, or an unknown Advice
//   - [os.ErrClosed] if f is closed
//   - [errors.ErrUnsupported] if the platform or the file does not support the Advice
//   - [fs.ErrPermission] for PopulateWrite if the file is not open for writing
//   - [io.ErrUnexpectedEOF] if the file is truncated while it is populated
//   - the system's error, for example if the disk is full or a device fails
func (f *File) Advise(off, n int64, a Advice) error {
	if f == nil {
		return os.ErrInvalid
	}
	if off < 0 || n < 0 || a < Normal || a > PopulateWrite {
		return f.fail("advise", fs.ErrInvalid)
	}
	if err := f.advise(off, n, a); err != nil {
		return f.fail("advise", err)
	}
	return nil
}

func (f *file) advise(off, n int64, a Advice) error {
	if f.private && a == DontNeed {
		return errors.ErrUnsupported
	}
	if a == WillNeed && canMap && !f.private {
		err := f.prefetch(off, n)
		if !errors.Is(err, errors.ErrUnsupported) || f.m.Load() == nil {
			return err
		} // else the system has a call for mapped memory alone
	}
	m, p, off, err := f.span(off, n, a >= PopulateRead || a == DontNeed)
	if err != nil || len(p) == 0 {
		return err
	}
	if a == PopulateWrite && !m.writable {
		return fs.ErrPermission
	}
	known := min(int64(len(p)), f.size.Load()-off) // p may extend to the end of the last page
	for range populateTries {
		err = f.onPages(m, func() error { return f.advisePages(p, off, a) })
		if a < PopulateRead || err == nil || err == os.ErrClosed {
			break
		}
		why := f.faultCause(m, p[:max(known, 0)], off)
		if why == os.ErrClosed || why == io.ErrUnexpectedEOF {
			return why
		}
		if err == errFault {
			err = why
		}
	}
	return err
}

var errFault = errors.New("page fault")

// populateTries is the number of attempts to populate pages. One failure proves
// nothing: a file that is truncated and extended meanwhile looks like a full disk.
const populateTries = 8

// advisePages gives advice about mapped pages. It waits for the disk only in
// system calls.
//
// Measured on Linux 6.18, ext4: with large folios, the first store to a page after a Sync
// costs 0.22 µs after DontNeed, and 4.8 after PopulateRead or with no advice. With pages of
// 4 KiB, and on tmpfs, DontNeed only costs time. After Random, the first stores to 1 GiB
// ran at 0.9 GiB/s instead of 2.5 or more.
func (f *file) advisePages(p []byte, off int64, a Advice) error {
	err := sys.Advise(p, int(a))
	if a < PopulateRead || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err != nil {
		f.readIn(off, off+int64(len(p)))
		if a == PopulateRead && !guard.Readable(p) || a == PopulateWrite && !guard.Writable(p) {
			return errFault
		}
	}
	f.pages.Note(pages.Ready, off, int64(len(p)))
	return nil
}

// onPages runs call. It returns os.ErrClosed if m was not mapped until its end.
func (f *file) onPages(m *mapping, call func() error) error {
	if !f.lockMapping(m) {
		return os.ErrClosed
	}
	defer f.unlockMappings()
	if err := call(); f.m.Load() != nil {
		return err
	}
	return os.ErrClosed // Close may have replaced the pages before the call
}

// span returns the mapped pages of n bytes at off, up to the end of the file, and
// the offset of the first one. inside leaves out pages that are partly in the range.
func (f *file) span(off, n int64, inside bool) (m *mapping, p []byte, from int64, err error) {
	size := f.ask()
	switch {
	case size < 0:
		return nil, nil, 0, f.noSize()
	case !canMap:
		return nil, nil, 0, errors.ErrUnsupported
	case off >= size || n == 0:
		return nil, nil, 0, nil
	}
	end := size
	if n < size-off {
		end = off + n
	}
	whole := size
	if size > mapLimit {
		whole = end // no more than necessary, since address space is short
	}
	if m, err = f.mapped(whole, true); err != nil {
		return nil, nil, 0, err
	}
	page := int64(pageSize)
	from = off &^ (page - 1)
	if inside {
		from = (off + page - 1) &^ (page - 1)
		if end < size {
			end &^= page - 1
		}
	} else {
		end = (end + page - 1) &^ (page - 1)
	}
	if end = min(end, int64(len(m.data))); from >= end {
		return m, nil, from, nil
	}
	return m, m.data[from:end], from, nil
}

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
	m, p, from, err := f.span(off, n, false)
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
	size := f.ask()
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
	m, _, _, err := f.span(off, n, false)
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
