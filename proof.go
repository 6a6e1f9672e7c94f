package mmapfile

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"unsafe"

	"go.dw1.io/mmapfile/internal/race"
)

// pageBehind is the offset of the page behind that of the byte at i.
func (m *mapping) pageBehind(i int) int64 {
	return int64(i|(pageSize-1)) + 1
}

// isLast reports whether page, the one behind some byte, is behind the file's
// end as f knows it, or behind m: then it cannot tell us anything.
func (f *file) isLast(m *mapping, page int64) bool {
	return page >= f.size.Load() || page >= int64(len(m.data))
}

// touch faults where the page at off is not the file's.
func (m *mapping) touch(off int64) {
	race.LoadWord((*uint32)(unsafe.Pointer(&m.data[off])))
}

// inside reports whether the file has a page behind the byte at i, which
// proves that it has the whole of that byte's page.
func (f *file) inside(m *mapping, i int) (ok bool) {
	page := m.pageBehind(i)
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

// touchAll reports whether m has each page from that of the byte at off to that of
// the one at last: then the file reaches so far.
func (f *file) touchAll(m *mapping, off, last int) bool {
	if locked {
		if !f.lockMapping(m) {
			return false
		}
		defer f.mu.RUnlock()
	}
	ok := readable(m.data[off : last+1])
	runtime.KeepAlive(f)
	return ok
}

// reaches proves that the file still has the byte at i, which reads as zero.
//
// When somebody cuts a file in the middle of a page, the rest of the page reads
// as zeros, without a fault. So what is not zero, there or behind, proves that
// the file reaches so far; and a page wholly behind the end cannot be touched.
// Where neither helps (zeros in the file's last page) the answer is no, and the
// file itself has to be asked. Called under the guard.
//
// What is not zero may also be a store that somebody made behind the end, into
// the rest of the last page, through a mapping of their own. Our stores look
// behind themselves (see store, stored and endCall), others' cannot be told.
func (f *file) reaches(m *mapping, i int) bool {
	if m.lineBehind(i + 1) {
		return true
	}
	page := m.pageBehind(i)
	if f.isLast(m, page) || !f.pages.seen(page, 1) {
		return false
	}
	m.touch(page)
	return true
}

// lineBehind reports whether anything from i to the end of its cache line is
// not zero; nothing is where i begins a line.
func (m *mapping) lineBehind(i int) bool {
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
