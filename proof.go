package mmapfile

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"unsafe"

	"go.dw1.io/mmapfile/internal/race"
)

// pageAfter returns the offset of the page after that of the byte at i.
func (m *mapping) pageAfter(i int) int64 {
	return int64(i|(pageSize-1)) + 1
}

// isLast reports whether page is at or past the known end of the file, or of m:
// then it proves nothing.
func (f *file) isLast(m *mapping, page int64) bool {
	return page >= f.size.Load() || page >= int64(len(m.data))
}

// touch faults where the page at off is not the file's.
func (m *mapping) touch(off int64) {
	race.LoadWord((*uint32)(unsafe.Pointer(&m.data[off])))
}

// inside reports whether the file has a page after the byte at i, which
// proves that it has the whole of that byte's page.
func (f *file) inside(m *mapping, i int) (ok bool) {
	page := m.pageAfter(i)
	if f.isLast(m, page) || !f.pages.seen(page, 1) {
		return false
	}
	defer unguard(debug.SetPanicOnFault(true), &ok)
	m.touch(page)
	runtime.KeepAlive(f)
	return true
}

// holds reports whether the file has its byte at i, as far as m can tell.
func (f *file) holds(m *mapping, i int) (ok bool) {
	defer unguard(debug.SetPanicOnFault(true), &ok)
	ok = m.data[i] != 0 || f.reaches(m, i)
	runtime.KeepAlive(f)
	return ok
}

// hasAll reports whether m has each page from that of the byte at off to that of
// the one at last: then the file reaches so far.
func (f *file) hasAll(m *mapping, off, last int) bool {
	if !f.lockMapping(m) {
		return false
	}
	defer f.unlockMappings()
	ok := readable(m.data[off : last+1])
	runtime.KeepAlive(f)
	return ok
}

// reaches proves that the file still has the byte at i, which reads as zero.
//
// After a truncation in the middle of a page the rest of the page reads as zeros,
// without a fault. So bytes that are not zero, there or after it, prove that the
// file reaches so far. A page wholly past the end cannot be touched. If neither
// helps (zeros in the file's last page) the answer is no, and the file itself has
// to be asked. Called under the guard.
//
// Bytes that are not zero may also be a store past the end, into the rest of the last
// page, through a mapping of another program. Stores of this package look at what is
// after them (see store and endCall); those of others cannot be told.
func (f *file) reaches(m *mapping, i int) bool {
	if m.lineAfter(i + 1) {
		return true
	}
	page := m.pageAfter(i)
	if f.isLast(m, page) || !f.pages.seen(page, 1) {
		return false
	}
	m.touch(page)
	return true
}

// lineAfter reports whether anything from i to the end of its cache line is
// not zero; nothing is if i begins a line.
func (m *mapping) lineAfter(i int) bool {
	for ; i%8 != 0 && i < len(m.data); i++ {
		if m.data[i] != 0 {
			return true
		}
	}
	for ; i%lineSize != 0 && i+8 <= len(m.data); i += 8 {
		if binary.NativeEndian.Uint64(m.data[i:]) != 0 {
			return true
		}
	}
	return false
}
