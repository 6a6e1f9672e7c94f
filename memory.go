package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/sys"
)

// Advice is what [File.Advise] tells the system.
type Advice int

const (
	// Normal takes back Sequential and Random.
	Normal Advice = iota
	// Sequential: read ahead further, and let go of what was read sooner.
	Sequential
	// Random: a fault reads its own page and none around it. Not for memory that
	// will be written: 1 GiB of first stores went at 0.9 GiB/s with it, at 2.5
	// and more without (Linux 6.18, ext4).
	Random
	// WillNeed starts reading the range into memory, and does not wait.
	WillNeed
	// DontNeed gives back this mapping's pages; the file and its cache stay.
	// Pages that are locked have to be unlocked first. A first store after a
	// Sync then costs what it does in a fresh mapping, which is 20 times less
	// with large folios (0.22 µs a page instead of 4.8 on Linux 6.18, ext4); on
	// tmpfs, and with pages of 4 KiB, it only costs.
	DontNeed
	// HugePages asks for huge pages, where the file system has them.
	HugePages
	// PopulateRead brings the range into memory and maps it, and waits for that,
	// page by page. Not for memory that will be written (each first store costs
	// 4.8 µs after it, with large folios, instead of 0.22), nor before reading
	// all of a file once: faulting as one goes is faster (Linux 6.18, ext4).
	PopulateRead
	// PopulateWrite does the same for storing, and so makes the pages dirty: the
	// file has its blocks, and a Sync writes it all; those of a private File are
	// copied. The file must be open for writing.
	PopulateWrite
)

// Advise tells the system how n bytes at off will be used, and maps the file if
// need be. What lies past the end of the file is left out. The system knows
// pages alone: Normal, Sequential, Random, WillNeed and HugePages, which are
// hints, reach to the pages that the range begins and ends in; DontNeed and the
// populating ones only to those that it covers, where the end of the file ends
// its page.
//
// An error is a *[fs.PathError] with Op "advise": [fs.ErrInvalid] for a negative off
// or n or an unknown Advice, [os.ErrClosed], [errors.ErrUnsupported] for what the
// platform or the file cannot do, [fs.ErrPermission] for PopulateWrite on a file not
// open for writing, [io.ErrUnexpectedEOF] if the file was truncated while it was
// populated, or the system's. A page that cannot be had (the disk is full under a
// hole, the device fails) is an error of the populating ones, and no fault.
//
// Advice concerns the mapping that the File has now: when a file has grown much
// there is another, which has to be told again. On Linux and the BSDs it is
// madvise(2), and the populating ones touch each page, but for PopulateWrite on
// Linux 5.14 and later, which is MADV_POPULATE_WRITE; on Windows WillNeed is
// PrefetchVirtualMemory and the other hints are errors.ErrUnsupported. So is
// DontNeed on a private File (see [Options]), whose changes it would drop.
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
	m, p, off, err := f.span(off, n, a >= PopulateRead || a == DontNeed)
	if err != nil || len(p) == 0 {
		return err
	}
	if a == PopulateWrite && !m.writable {
		return fs.ErrPermission
	}
	known := min(int64(len(p)), f.size.Load()-off) // p may reach to the end of the file's last page
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

// populateTries is how often pages that cannot be had are tried: a file that was
// truncated and has its length again by the time it is asked looks like a full disk.
const populateTries = 8

// advisePages is advise for pages that are mapped. It waits for the disk in system
// calls alone.
func (f *file) advisePages(p []byte, off int64, a Advice) error {
	err := sys.Advise(p, int(a))
	if a < PopulateRead || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err != nil {
		f.readIn(off, off+int64(len(p)))
		if a == PopulateRead && !readable(p) || a == PopulateWrite && !storable(p) {
			return errFault
		}
	}
	f.pages.note(noteReady, off, int64(len(p)))
	return nil
}

// onPages makes a call on pages of m, which must be the File's from its beginning to its end.
func (f *file) onPages(m *mapping, call func() error) error {
	if locked {
		if !f.lockMapping(m) {
			return os.ErrClosed
		}
		defer f.mu.RUnlock()
	}
	if err := call(); f.m.Load() != nil {
		return err
	}
	return os.ErrClosed // so that they may have been reserved by then
}

// span is the mapped memory of n bytes at off, as far as the file reaches,
// widened or narrowed to whole pages; and where that begins in the file.
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
		whole = end // as much as is needed, where address space is short
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

// LockMemory keeps the n bytes at off in memory until [File.UnlockMemory] or
// Close, and maps the file if need be. The lock is one of whole pages, those
// that the range begins and ends in included, and ends at the end of the file;
// a file that has grown has to be locked again. Locks do not count: what was
// locked twice is unlocked by one call.
//
// An error is a *[fs.PathError] with Op "lock": [fs.ErrInvalid] for a negative off or
// n, [os.ErrClosed], [errors.ErrUnsupported] for what cannot be mapped and on
// platforms without such a call, or the system's, ENOMEM or EPERM over RLIMIT_MEMLOCK
// (mlock(2)); on Windows the working set is the limit (VirtualLock). After an error no
// page of the range is locked, not even those that an earlier call had locked.
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

// UnlockMemory ends what [File.LockMemory] did, for the pages of the n bytes at off.
// That they were not locked is no error. Errors are those of LockMemory, with Op
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
		if e := sys.UnlockMemory(m.data[from:end]); err == nil {
			err = e
		}
	}
	return err
}

// Resident returns how many of the n bytes at off are in memory, as far as the file
// reaches, at this moment. It leaves everything where it is.
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

// Stats are figures about all Files of the process, for a dashboard. Those that are
// not said to be of now are totals since the process began.
type Stats struct {
	MappedFiles   int64 // Files that are mapped now
	MappedBytes   int64 // address space of their mappings now
	ReservedBytes int64 // address space now that closed Files keep until they are collected

	// SystemCalls are the reads and writes that went to the kernel because their pages
	// were not ready: the file is not mapped, or was not read there often enough, or
	// what was known has been forgotten. An open File counts them 128 at a time.
	SystemCalls uint64

	Faults      uint64 // page faults caught: truncation by another process, a full disk, a failing device
	MajorFaults uint64 // major page faults of the process while Files were mapped, if the system counts them
	Prefaults   uint64 // ranges that were prefaulted for mapped writes
}

// stats has what Stats has no other source for.
var stats struct {
	files                                 atomic.Int64
	calls, faults, majorFaults, prefaults atomic.Uint64
}

// ReadStats fills in s. It takes no lock, so that the figures are not of one moment.
func ReadStats(s *Stats) {
	held := reservedBytes.Load()
	*s = Stats{
		MappedFiles:   stats.files.Load(),
		MappedBytes:   max(rangeBytes.Load()-held, 0),
		ReservedBytes: held,
		SystemCalls:   stats.calls.Load(),
		Faults:        stats.faults.Load(),
		MajorFaults:   stats.majorFaults.Load(),
		Prefaults:     stats.prefaults.Load(),
	}
}
