//go:build windows && !nommap

package mmapfile

import (
	"errors"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	canMap = true

	// A view cannot be replaced by a reservation in one step, so readers hold
	// the lock, and nothing is mapped longer than the file, which would grow it.
	locked        = true
	mapsBeyondEnd = false
	split         = false
)

const mapLimit int64 = 1 << (29 + 17*(^uint(0)>>63))

const errNoMemory = windows.ERROR_NOT_ENOUGH_MEMORY

// memory is the state of a platform without mappings.
//
//lint:ignore U1000 the fallback has a use for it
type memory struct{}

func (f *file) bytesCopy() []byte { return nil }
func (f *file) copied() bool      { return false }

func (f *file) viewCopy(int64, int, func([]byte) error) error { return errors.ErrUnsupported }

// mapFile maps the first length bytes of f, for writing if it can.
func mapFile(f *os.File, length int, write, _ bool) (data []byte, writable bool, err error) {
	cerr := withHandle(f, func(h windows.Handle) {
		if write {
			data, err = mapView(h, length, windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE)
			writable = err == nil
		}
		// A handle opened for reading, or for appending, says no to the first.
		if !write || err == windows.ERROR_ACCESS_DENIED {
			data, err = mapView(h, length, windows.PAGE_READONLY, windows.FILE_MAP_READ)
		}
	})
	if cerr != nil {
		err = cerr
	}
	return data, writable, err
}

// mapPrivate maps the first length bytes of f copy on write.
func mapPrivate(f *os.File, length int, write bool) (data []byte, err error) {
	protect, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if write {
		protect, access = windows.PAGE_WRITECOPY, windows.FILE_MAP_COPY
	}
	cerr := withHandle(f, func(h windows.Handle) { data, err = mapView(h, length, protect, access) })
	if cerr != nil {
		err = cerr
	}
	return data, err
}

// placing is held while a range is given to a view or taken from one, so that
// no other view of ours gets into a range that is free for a moment.
var placing sync.Mutex

// mapView maps the file where it finds room. From the top, where no other
// code looks first, since a view may have to leave its range for a moment (see lift).
func mapView(h windows.Handle, length int, protect, access uint32) ([]byte, error) {
	placing.Lock()
	defer placing.Unlock()
	base, err := windows.VirtualAlloc(0, uintptr(length), windows.MEM_RESERVE|memTopDown, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	windows.VirtualFree(base, 0, windows.MEM_RELEASE)
	data, err := mapViewAt(base, h, length, protect, access)
	if err == windows.ERROR_INVALID_ADDRESS { // other code did
		data, err = mapViewAt(0, h, length, protect, access)
	}
	return data, err
}

const memTopDown = 0x100000 // MEM_TOP_DOWN of VirtualAlloc

var mapViewOfFileEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("MapViewOfFileEx")

// mapViewAt maps at base through a section of the file's own size, so that it
// cannot grow the file. The view keeps the section alive.
func mapViewAt(base uintptr, h windows.Handle, length int, protect, access uint32) ([]byte, error) {
	section, err := windows.CreateFileMapping(h, nil, protect, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(section)
	addr, _, err := mapViewOfFileEx.Call(uintptr(section), uintptr(access), 0, 0, uintptr(length), base)
	if addr == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(addrPointer(addr)), length), nil
}

// addrPointer is a conversion that vet would take for a mistake: the address
// is not one of Go's heap.
func addrPointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

func addrOf(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

func reserve([]byte) {}

// unmap gives back a view, and the reservation after it that a truncation has left.
func unmap(view, rest []byte) {
	placing.Lock()
	defer placing.Unlock()
	if len(view) > 0 {
		windows.UnmapViewOfFile(addrOf(view))
	}
	release(rest)
}

// hold reserves the range, and returns it if it got it.
func hold(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	if _, err := windows.VirtualAlloc(addrOf(data), uintptr(len(data)), windows.MEM_RESERVE, windows.PAGE_NOACCESS); err != nil {
		return nil // it has another owner, and is not ours to touch any more
	}
	return data
}

func release(held []byte) {
	if len(held) > 0 {
		windows.VirtualFree(addrOf(held), 0, windows.MEM_RELEASE)
	}
}

// granules rounds n up to where the next view or reservation can begin (dwAllocationGranularity in
// SYSTEM_INFO, which is 64 KiB on every Windows).
func granules(n int) int {
	const granule = 64 << 10
	return (n + granule - 1) &^ (granule - 1)
}

// cut truncates the file. The system refuses that below a view, so if need be
// all views leave; and those whose memory a caller may hold, through Bytes
// or inside View, come back afterwards to where they were, as long as the file is
// now. Called with mu held.
func (f *file) cut(size int64) error {
	err := f.inner.Truncate(size)
	m := f.m.Load()
	if m == nil || !errors.Is(err, windows.ERROR_USER_MAPPED_FILE) {
		return err
	}
	var held []*mapping
	for f.m.Store(nil); m != nil; m = m.prev {
		if !m.region.abandon() {
			held = append(held, m)
		}
	}
	placing.Lock()
	defer placing.Unlock()
	for _, m := range held {
		lift(m.region)
	}
	err = f.inner.Truncate(size)
	if fi, serr := f.inner.Stat(); serr == nil {
		size = fi.Size()
	}
	for _, m := range slices.Backward(held) {
		next := *m
		next.data = f.lower(m, int(min(size, int64(len(m.data)))))
		next.limit = min(next.limit, len(next.data))
		next.prev = f.m.Load()
		f.m.Store(&next)
	}
	return err
}

// lift takes the view out of a range and keeps the range: who touches it
// faults. Between the two calls another thread could be given the
// range, hence mapView's choice of it; then it is lost. (A placeholder, which
// VirtualAlloc2 has from Windows 10 1803 on, would close that gap; wine 8 has
// none to test it with.)
func lift(r *region) {
	if len(r.shown) == 0 {
		return // it has left before
	}
	windows.UnmapViewOfFile(addrOf(r.data))
	release(r.rest)
	r.shown, r.rest = nil, hold(r.data)
}

// lower maps the first length bytes of the file to where lift took them from, and
// keeps the rest of the range reserved.
func (f *file) lower(m *mapping, length int) []byte {
	r := m.region
	if length == 0 || len(r.rest) != len(r.data) {
		return nil
	}
	protect, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if m.writable {
		protect, access = windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE
	}
	release(r.rest)
	r.rest = nil
	withHandle(f.inner, func(h windows.Handle) {
		r.shown, _ = mapViewAt(addrOf(r.data), h, length, protect, access)
	})
	r.rest = hold(r.data[min(granules(len(r.shown)), len(r.data)):])
	return r.shown[:len(r.shown):len(r.shown)]
}

// descriptorMode tells from the flags of our own open call: a handle does not
// say. What New was given is written by system calls, and so is what was opened
// with O_APPEND, O_SYNC or one of the system's own flags, such as FILE_FLAG_WRITE_THROUGH.
func descriptorMode(_ *os.File, flag int) (mode, error) {
	const known = os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC
	return mode{
		read:  flag < 0 || flag&os.O_WRONLY == 0,
		write: flag < 0 || flag&os.O_RDWR != 0,
		plain: flag >= 0 && flag&^known == 0,
	}, nil
}

func withHandle(f *os.File, fn func(h windows.Handle)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { fn(windows.Handle(fd)) })
}

// flush writes the views' changed pages to the file; FlushFileBuffers, which
// comes after it, does the rest (FlushViewOfFile, remarks).
func (f *file) flush() (err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for m := f.m.Load(); m != nil; m = m.prev {
		if m.writable && len(m.data) > 0 {
			err = errors.Join(err, windows.FlushViewOfFile(addrOf(m.data), uintptr(len(m.data))))
		}
	}
	return err
}

// Views and system calls see the same bytes.
func (f *file) settle(int64, int) error { return nil }
func (f *file) absorb([]byte, int64)    {}
