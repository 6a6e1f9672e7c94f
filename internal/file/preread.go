package file

import (
	"io"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// prereadMax is the number of bytes that are read before user code sees them: a cold View.
const prereadMax = 4 << 20

// preread loads the n bytes at off of the mapped file into memory before user code or a
// guarded copy accesses them. It reads them by system call, up to prereadMax, if they are
// not known to be there.
func (f *File) preread(m *mapping, off, n int64) {
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
			case err != nil && !closeNeedsLock && !f.sparse() && vm.Memory.Advise(m.data[off&^int64(pageSize-1):next], sys.PopulateRead) == nil:
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

// readIn reads the file from off to end into memory, and reports whether it could.
func (f *File) readIn(off, end int64) bool {
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

// readPage reads the page at off in.
func (f *File) readPage(off int64) {
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
