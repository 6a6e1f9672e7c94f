package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// Advice tells the system how memory will be used. See [File.Advise].
type Advice int

const (
	// Normal cancels Sequential and Random.
	Normal Advice = iota
	// Sequential reads ahead further, and drops pages sooner after use.
	Sequential
	// Random reads only the page of a fault, not those around it. It slows down
	// writing: the first stores to 1 GiB ran at 0.9 GiB/s instead of 2.5 or more
	// (Linux 6.18, ext4).
	Random
	// WillNeed starts to read the range into memory, and does not wait.
	WillNeed
	// DontNeed releases the pages of this mapping. The file and the page cache
	// stay. Locked pages must be unlocked first. With large folios, a first store
	// after a Sync then costs 0.22 µs a page instead of 4.8 (Linux 6.18, ext4). On
	// tmpfs, and with pages of 4 KiB, DontNeed only costs time.
	DontNeed
	// HugePages asks for huge pages, if the file system has them.
	HugePages
	// PopulateRead reads the range into memory and maps it, and waits. It slows
	// down writing: with large folios, each first store after it costs 4.8 µs
	// instead of 0.22 (Linux 6.18, ext4). A single pass over a file is faster without.
	PopulateRead
	// PopulateWrite is PopulateRead for stores. The pages become dirty, so the file
	// gets its blocks and the next Sync writes the whole range. Pages of a private
	// File are copied. The file must be open for writing.
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

// Advise tells the system how n bytes at off will be used. It maps the file if
// necessary, and ignores the part of the range after the end of the file.
//
// Advice is for whole pages. DontNeed, PopulateRead and PopulateWrite include the
// pages that are inside the range; the last page of the file ends with the file.
// Other advice includes the pages that are partly in the range. A file that has
// grown much has a new mapping, which needs new advice.
//
// An error is a *[fs.PathError] with Op "advise":
//   - [fs.ErrInvalid] for a negative off or n, or an unknown Advice
//   - [os.ErrClosed] if f is closed
//   - [errors.ErrUnsupported] if the platform or the file does not support the
//     Advice, and for DontNeed on a private File, which would lose its changes
//   - [fs.ErrPermission] for PopulateWrite if the file is not open for writing
//   - [io.ErrUnexpectedEOF] if the file is truncated while it is populated
//   - the system's error, for example if the disk is full or a device fails
//
// Advise calls madvise(2) on Linux and the BSDs. To populate, it touches each
// page; PopulateWrite is MADV_POPULATE_WRITE on Linux 5.14 and later. On Windows
// it supports Normal, WillNeed (PrefetchVirtualMemory), PopulateRead and
// PopulateWrite.
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

// onPages runs call. It returns os.ErrClosed if m was not mapped until its end.
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
