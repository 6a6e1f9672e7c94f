package mmapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"

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
	// WillNeed starts to read the first 32 MiB of the range into memory, and does not wait. A
	// longer range needs a call for each 32 MiB. It maps nothing, and on Linux leaves out holes.
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

// Advise tells the system how n bytes at off will be used, up to the end of the file. It maps
// the file if necessary, except for WillNeed. A file that has grown much needs new advice.
//
// An error is a *[fs.PathError] with Op "advise". It wraps [errors.ErrUnsupported] if the
// platform or the file has no such advice, [fs.ErrInvalid] for a wrong argument, and
// [os.ErrClosed]. PopulateWrite needs a file open for writing, else it is [fs.ErrPermission].
// A truncation meanwhile is [io.ErrUnexpectedEOF]. The rest are the system's, such as ENOSPC.
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
	if a == WillNeed {
		n = min(n, prefetchMax)
		if canMap && !f.private {
			err := f.prefetch(off, n)
			if !errors.Is(err, errors.ErrUnsupported) || f.m.Load() == nil {
				return err
			} // else the system has a call for mapped memory alone
		}
	}
	m, p, off, err := f.pagesAt(off, n, a >= PopulateRead || a == DontNeed)
	if err != nil || len(p) == 0 {
		return err
	}
	if a == PopulateWrite && !m.writable {
		return fs.ErrPermission
	}
	known := min(int64(len(p)), f.length.Known()-off) // p may extend to the end of the last page
	for range populateTries {
		err = f.onPages(m, func() error { return f.advisePages(p, off, a) })
		if a < PopulateRead || err == nil || err == os.ErrClosed {
			break
		}
		why := f.faultCause(m, p[:max(known, 0)], off)
		if why == os.ErrClosed || why == io.ErrUnexpectedEOF {
			return why
		}
	}
	switch {
	case err != sys.ErrFault:
		return err
	case a == PopulateRead && f.storageOf() != sys.StorageMemory:
		return syscall.EIO
	}
	return f.fullCause(m, p[:max(known, 0)], off)
}

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
			return sys.ErrFault
		}
	}
	f.pages.Note(pages.Ready, off, int64(len(p)))
	return nil
}
