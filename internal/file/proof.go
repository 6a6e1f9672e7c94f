package file

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/race"
)

// Does the file have a byte? There are two answers. By covers and coversKnown a File believes
// it, because its length says so. By has, provesZero and provesPage memory proves it, unless
// the byte is in the last page (isLast), which may have been truncated in its middle.

// pageAfter returns the offset of the page after that of the byte at i.
func pageAfter(i int) int64 { return int64(i|(pageSize-1)) + 1 }

// isLast reports whether page is at or past the known end of the file, or of m. Then it
// proves nothing.
func (f *File) isLast(m *mapping, page int64) bool {
	return page >= f.length.Known() || page >= int64(len(m.data))
}

// touch faults if the file does not have the page at off.
func (m *mapping) touch(off int64) {
	race.LoadWord((*uint32)(unsafe.Pointer(&m.data[off])))
}

// provesPage reports whether the file has a page after the byte at i. That proves that it has
// the whole of that byte's page.
func (f *File) provesPage(m *mapping, i int) (ok bool) {
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	ok = f.hasPage(m, i)
	runtime.KeepAlive(f)
	return ok
}

// hasPage is provesPage, under a guard of the caller.
func (f *File) hasPage(m *mapping, i int) bool {
	page := pageAfter(i)
	if f.isLast(m, page) || !f.pages.Known(page, 1) {
		return false
	}
	m.touch(page)
	return true
}

// has reports whether m proves that the file has the byte at i. Called under the guard.
func (f *File) has(m *mapping, i int) bool { return m.data[i] != 0 || f.provesZero(m, i) }

// proves is has with a guard of its own.
func (f *File) proves(m *mapping, i int) (ok bool) {
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	ok = f.has(m, i)
	runtime.KeepAlive(f)
	return ok
}

// provesZero proves that the file still has the byte at i, which reads as zero.
//
// After a truncation in the middle of a page the rest of the page reads as zeros, without a
// fault. So a byte that is not zero, there or after it, proves that the file reaches it. A
// page wholly past the end faults. If neither helps (zeros in the file's last page), the
// result is false, and the caller must ask the file. Called under the guard.
//
// Bytes that are not zero may also be a store of another program, through its own mapping,
// into the last page past the end. That cannot be told from content. Stores of this package
// check what is after them (see store and endCall).
func (f *File) provesZero(m *mapping, i int) bool {
	if f.immutable || m.lineAfter(i+1) { // the promise is a proof
		return true
	}
	page := pageAfter(i)
	if f.isLast(m, page) || !f.pages.Proves(page) {
		return false
	}
	m.touch(page)
	return true
}

// lineAfter reports whether any byte from i to the end of its cache line is not zero. It
// returns false if i begins a line.
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
