package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
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

// Advise tells the system how n bytes at off will be used, and maps the file if
// need be. What lies behind the end of the file is left out. The system knows
// pages alone: Normal, Sequential, Random, WillNeed and HugePages, which are
// hints, reach to the pages that the range begins and ends in; DontNeed and the
// populating ones only to those that it covers, where the end of the file ends
// its page.
//
// It may be called concurrently with everything, Close included. An error is a
// *[fs.PathError] with Op "advise": [fs.ErrInvalid] for a negative off or n or
// an unknown Advice, [os.ErrClosed], [errors.ErrUnsupported] for what the
// platform or the file cannot do, [fs.ErrPermission] for PopulateWrite on a
// file not open for writing, [io.ErrUnexpectedEOF] where the file was cut while
// it was populated, or the system's. A page that cannot be had (the disk is
// full under a hole, the device fails) is an error of the populating ones, and
// no fault.
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
// cut and has its length again by the time it is asked looks like a full disk.
const populateTries = 8

// advisePages is advise for pages that are mapped. It waits for the disk in system
// calls alone.
func (f *file) advisePages(p []byte, off int64, a Advice) error {
	err := adviseMemory(p, a)
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
