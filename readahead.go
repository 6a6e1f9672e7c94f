package mmapfile

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// prereadMax is the number of bytes that are read before user code sees them: a cold View.
const prereadMax = 4 << 20

// lookAhead asks whether what follows reads in order of n bytes is in memory, if the answer is
// worth the question. If it is in memory, and mapping it pays, it is made ready. If it is not,
// the system is told to read ahead, and not asked again until the order ends.
//
// Pages that are read ahead, and not again, gain little from a mapping. In a small memory
// cgroup they cost: the system counts a question and a mapped read as a second use of a
// page, and keeps it. A pass over twice the memory took 1.4 to 2 times as long.
func (f *file) lookAhead(off, n int64) {
	if !f.onMappable() {
		f.never.Store(true) // on a network file system, what os.File does is all that is done
		return
	}
	size := f.length.Known()
	if off >= size {
		var regular bool
		if size, regular = f.stat(); !regular {
			f.never.Store(true)
		}
	}
	ask, far := f.pages.Plan(off, n, size, f.mapsTo(off+1))
	end, again := pages.Ahead(off, far)
	f.pages.Asked(again)
	if end = min(end, size); end <= off || !ask {
		return
	}
	in, err := f.inMemory(off, end)
	switch {
	case err != nil:
	case !in:
		f.readInOrder(true)
		f.pages.Asked(math.MaxInt64)
	case !far:
		f.pages.Asked(end)
		if f.mapsTo(end) || f.mapForCalls() {
			f.measureFaults(off, f.pages.BuyAhead(off, end))
		}
	}
}

// readOrder says whether the system was told that a file is read in order. Other code that
// has the descriptor may have advice of its own, so it is told nothing from then on.
type readOrder struct {
	mu        sync.Mutex // held while the system is told
	on        atomic.Bool
	handedOut bool // under mu: other code has the descriptor
}

// readInOrder tells the system, once, that the file is read in order, or that it no longer
// is.
func (f *file) readInOrder(on bool) {
	if f.readsInOrder() == on || !f.ownDescriptor() {
		return
	}
	o := &f.needCold().order
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on.Load() != on && !o.handedOut {
		sys.ReadInOrder(f.inner, on)
		o.on.Store(on)
	}
}

// readsInOrder reports whether the system was told so.
func (f *file) readsInOrder() bool {
	c := f.cold.Load()
	return c != nil && c.order.on.Load()
}

// endReadOrder takes back what the system was told, before a descriptor is handed out.
func (f *file) endReadOrder() {
	o := &f.needCold().order
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handedOut = true
	if o.on.Swap(false) {
		sys.ReadInOrder(f.inner, false)
	}
}

// copyInOrder tells the system that the file is read in order, for a kernel copy of what is
// not in memory, and reports whether it did.
func (f *file) copyInOrder() bool {
	if !f.tracks() || !f.ownDescriptor() || f.readsInOrder() {
		return false
	}
	size, off := f.length.Known(), f.cur.Hint()
	if !f.length.Current() {
		size, _ = f.stat()
	}
	end, _ := pages.Ahead(off, true)
	if size-off < pages.AheadBytes { // the system reads as much ahead by itself
		return false
	}
	in, err := f.inMemory(off, end)
	if in || err != nil {
		return false
	}
	f.readInOrder(true)
	return true
}

// residencyUnknown reports whether the system cannot report what is in memory.
func (f *file) residencyUnknown() bool {
	c := f.cold.Load()
	return c != nil && c.residencyUnknown.Load()
}

// inMemory reports whether the file's pages from off to end are in memory.
func (f *file) inMemory(off, end int64) (in bool, err error) {
	switch {
	case f.residencyUnknown():
		return false, errResidencyUnknown
	case f.storageOf() == sys.StorageMemory: // where RWF_NOWAIT is not supported, and no page is being read
		page := int64(pageSize)
		var n int64
		n, err = sys.CachedPages(f.inner, off, end-off)
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
func (f *file) cached(off, end int64) bool {
	in, err := f.inMemory(off, end)
	return err == nil && in
}

// readNextPage reads the page after n bytes at off in. A read that ends in zeros, with ready pages,
// looks there for the end of the file (see provesZero). It returns false if the file has no such
// page, it was known, or the budget does not suffice.
func (f *file) readNextPage(off, n int64) bool {
	page := (off + n + int64(pageSize) - 1) &^ int64(pageSize-1)
	if page >= f.length.Known() || f.pages.Proves(page) {
		return false
	}
	ok, measure := f.pages.BuyProof(page, n)
	if !ok {
		return false
	}
	f.readPage(page)
	if measure && f.pages.Known(page, 1) {
		f.measureFaults(page, 1)
	}
	return true
}

// readPage reads the page at off in.
func (f *file) readPage(off int64) {
	if f.sparse() {
		if f.cached(off, off+1) {
			f.pages.Note(pages.Ready, off, 1)
		}
	} else if !f.readIn(off, off+1) {
		if size, regular := f.stat(); regular { // it may have been truncated
			f.pages.Truncated(size)
		}
	}
}

// preread loads the n bytes at off of the mapped file into memory before user code or a
// guarded copy accesses them. It reads them by system call, up to prereadMax, if they are
// not known to be there.
func (f *file) preread(m *mapping, off, n int64) {
	if !canMap || noUnifiedCache {
		return
	}
	size := min(f.length.Known(), int64(len(m.data)))
	if n > prereadMax && off+n <= size && !f.pages.Known(off+n-1, 1) {
		f.readIn(off+n-1, off+n) // the page in which provesZero looks for the end of file
	}
	inOrder := f.needCold().viewed.Swap(off+n) == off && off > 0
	if !inOrder {
		f.readInOrder(false)
	}
	for end := min(off+min(n, prereadMax), size); off < end; {
		next := min((off+pages.AheadBytes)/pages.BlockSize*pages.BlockSize, end)
		if !f.pages.Known(off, int(next-off)) {
			start, stop := off/pages.BlockSize*pages.BlockSize, min((next+pages.BlockSize-1)/pages.BlockSize*pages.BlockSize, size)
			in, err := f.inMemory(start, stop)
			switch {
			case in && err == nil:
				f.pages.Note(pages.Ready, start, stop-start)
			case err != nil && !closeNeedsLock && sys.Advise(m.data[off&^int64(pageSize-1):next], sys.PopulateRead) == nil:
				f.pages.Note(pages.Ready, off, next-off)
			default:
				if inOrder {
					f.readInOrder(true)
				}
				if !f.readIn(off, next) {
					return
				}
			}
		}
		off = next
	}
}

// copyBuf holds buffers of the size that io.Copy allocates anew for each copy. The size is
// the same because it is visible in the cursor if a Writer fails, or seeks the file. Pieces
// of 64 to 256 KiB were no faster (100 KiB to 10 MiB, three rounds).
var copyBuf = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readIn reads the file from off to end into memory, and reports whether it could.
func (f *file) readIn(off, end int64) bool {
	mark := pages.Ready
	if f.sparse() {
		mark = pages.Seen // what was read may be a hole; what the system counts is none
	}
	buf := copyBuf.Get().(*[32 << 10]byte)
	defer copyBuf.Put(buf)
	for off < end {
		n, err := f.inner.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if n > 0 {
			f.pages.Note(mark, off, int64(n))
		}
		if err != nil && (err != io.EOF || n == 0) {
			return false
		}
		off += int64(n)
	}
	return true
}

// prefetchMax is the number of bytes that one Advise with WillNeed asks for. It is what 256
// requests of 128 KiB hold, which the queue of a device takes; past that, asking waits for the
// disk. Of a cold file on a disk of 1.2 GB/s, 16 MiB took 4 ms to ask for, 32 MiB 8, 64 MiB 20 to
// 55, and 1 GiB 400.
const prefetchMax = 32 << 20

// prefetch starts to read n bytes at off into memory, unless they are known to be there. It
// maps nothing.
func (f *file) prefetch(off, n int64) error {
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

var errResidencyUnknown = errors.New("the system does not report what is in memory")
