package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// Advise is the method of mmapfile.File.
func (f *File) Advise(off, n int64, a int) error {
	if off < 0 || n < 0 || a < sys.Normal || a > sys.PopulateWrite {
		return f.fail("advise", fs.ErrInvalid)
	}
	if err := f.advise(off, n, a); err != nil {
		return f.fail("advise", err)
	}
	return nil
}

func (f *File) advise(off, n int64, a int) error {
	if f.private() && a == sys.DontNeed {
		return errors.ErrUnsupported
	}
	if a == sys.WillNeed {
		n = min(n, prefetchMax)
		if canMap && !f.private() {
			err := f.prefetch(off, n)
			if !errors.Is(err, errors.ErrUnsupported) || f.m.Load() == nil {
				return err
			} // else the system has a call for mapped memory alone
		}
	}
	m, p, off, err := f.pagesAt(off, n, a >= sys.PopulateRead || a == sys.DontNeed)
	if err != nil || len(p) == 0 {
		return err
	}
	if a == sys.PopulateWrite && !m.writable {
		return fs.ErrPermission
	}
	known := min(int64(len(p)), f.length.Known()-off) // p may extend to the end of the last page
	for range populateTries {
		err = f.onPages(m, func() error { return f.advisePages(p, off, a) })
		if a < sys.PopulateRead || err == nil || err == os.ErrClosed {
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
	case a == sys.PopulateRead && f.storageOf()&sys.StorageSparse == 0:
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
func (f *File) advisePages(p []byte, off int64, a int) error {
	err := vm.Memory.Advise(p, a)
	if a < sys.PopulateRead || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err != nil {
		f.readIn(off, off+int64(len(p)))
		if a == sys.PopulateRead && !guard.Readable(p) || a == sys.PopulateWrite && !guard.Writable(p) {
			return sys.ErrFault
		}
	}
	f.pages.Note(pages.Ready, off, int64(len(p)))
	return nil
}

// prefetchMax is the number of bytes that one Advise with WillNeed asks for. It is what 256
// requests of 128 KiB hold, which the queue of a device takes; past that, asking waits for the
// disk. Of a cold file on a disk of 1.2 GB/s, 16 MiB took 4 ms to ask for, 32 MiB 8, 64 MiB 20 to
// 55, and 1 GiB 400.
const prefetchMax = 32 << 20

// prefetch starts to read n bytes at off into memory, unless they are known to be there. It
// maps nothing.
func (f *File) prefetch(off, n int64) error {
	size := f.length.Known()
	if !f.length.Current() || f.osReturned.Load() { // it may be closed
		if size = f.visibleLen(); size < 0 {
			return f.noSize()
		}
	}
	switch n = min(n, size-off, prefetchMax); {
	case f.mu.Closed():
		return os.ErrClosed
	case n <= 0 || f.pages.Known(off, int(n)):
		return nil
	}
	if f.tracks() && f.cached(off, off+n) {
		mark := pages.Seen
		if f.sparse() {
			mark = pages.Ready // it is no hole, see readIn
		}
		f.pages.Note(mark, off, n)
		return nil
	}
	return sys.Prefetch(f.inner, off, n)
}
