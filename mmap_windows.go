//go:build windows && !nommap

package mmapfile

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// platform has the calls of the system about memory: see [vm.Platform].
type platform struct{}

var _ vm.Platform = platform{}

// Map maps the first length bytes of f, for writing if it can.
func (platform) Map(f *os.File, length int, write, _ bool) (data []byte, writable bool, err error) {
	err = sys.Borrow(f, func(fd int) (err error) {
		h := windows.Handle(fd)
		if write {
			data, err = mapView(h, length, windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE)
			writable = err == nil
		}
		// A handle opened for reading, or for appending, refuses the first.
		if !write || err == windows.ERROR_ACCESS_DENIED {
			data, err = mapView(h, length, windows.PAGE_READONLY, windows.FILE_MAP_READ)
		}
		return err
	})
	return data, writable, err
}

// MapPrivate maps the first length bytes of f copy on write.
func (platform) MapPrivate(f *os.File, length int, write bool) (data []byte, err error) {
	protect, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if write {
		protect, access = windows.PAGE_WRITECOPY, windows.FILE_MAP_COPY
	}
	err = sys.Borrow(f, func(fd int) (err error) {
		data, err = mapView(windows.Handle(fd), length, protect, access)
		return err
	})
	return data, err
}

// placing is held while a range is given to a view or taken from one. So no other view of
// this package gets into a range that is free for a moment.
var placing sync.Mutex

// mapView maps the file at a free range, from the top of the address space. Other code does
// not look there first, and a view may have to leave its range for a moment (see Reserve).
func mapView(h windows.Handle, length int, protect, access uint32) ([]byte, error) {
	placing.Lock()
	defer placing.Unlock()
	base, err := windows.VirtualAlloc(0, uintptr(length), windows.MEM_RESERVE|memTopDown, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	windows.VirtualFree(base, 0, windows.MEM_RELEASE)
	data, err := mapViewAt(base, h, length, protect, access)
	if err == windows.ERROR_INVALID_ADDRESS { // other code took the range
		data, err = mapViewAt(0, h, length, protect, access)
	}
	return data, err
}

const memTopDown = 0x100000 // MEM_TOP_DOWN of VirtualAlloc

var mapViewOfFileEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("MapViewOfFileEx")

// mapViewAt maps at base through a section of the file's own size, so that it cannot grow
// the file. The view keeps the section alive.
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

// addrPointer converts an address that is not one of Go's heap. vet would report a plain
// conversion.
func addrPointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

func addrOf(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Reserve removes the view from the range data and returns the range as a reservation: an
// access faults. rest is what was reserved after the view. Between the two calls another
// thread could be given the range, hence mapView's choice of it. Then the range is lost,
// and the result is nil. (A placeholder, which VirtualAlloc2 has from Windows 10 1803 on,
// would close that gap. wine 8 has none to test it with.)
func (platform) Reserve(data, rest []byte) (held []byte) {
	placing.Lock()
	defer placing.Unlock()
	windows.UnmapViewOfFile(addrOf(data))
	release(rest)
	return hold(data)
}

// MapReserved maps the first length bytes of f to the range held, which reserve has
// returned. It reserves the rest of it.
func (platform) MapReserved(f *os.File, held []byte, length int, write bool) (view, rest []byte, err error) {
	protect, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if write {
		protect, access = windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE
	}
	placing.Lock()
	defer placing.Unlock()
	release(held)
	err = sys.Borrow(f, func(fd int) (err error) {
		view, err = mapViewAt(addrOf(held), windows.Handle(fd), length, protect, access)
		return err
	})
	return view, hold(held[min(granules(len(view)), len(held)):]), err
}

// RefusesMapped reports whether err is the system's refusal to truncate a file that is mapped.
func (platform) RefusesMapped(err error) bool { return errors.Is(err, windows.ERROR_USER_MAPPED_FILE) }

// Unmap releases a view, and the reservation after it that a truncation has left.
func (platform) Unmap(view, rest []byte) {
	placing.Lock()
	defer placing.Unlock()
	if len(view) > 0 {
		windows.UnmapViewOfFile(addrOf(view))
	}
	release(rest)
}

// hold reserves the range, and returns it if that succeeded.
func hold(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	if _, err := windows.VirtualAlloc(addrOf(data), uintptr(len(data)), windows.MEM_RESERVE, windows.PAGE_NOACCESS); err != nil {
		return nil // the range has another owner, and must not be accessed any more
	}
	return data
}

func release(held []byte) {
	if len(held) > 0 {
		windows.VirtualFree(addrOf(held), 0, windows.MEM_RELEASE)
	}
}

// granules rounds n up to the next offset of a view or reservation. That unit is
// dwAllocationGranularity in SYSTEM_INFO, which is 64 KiB on every Windows.
func granules(n int) int {
	const granule = 64 << 10
	return (n + granule - 1) &^ (granule - 1)
}

// Flush writes the view's changed pages to the file. FlushFileBuffers, which comes
// after it, does the rest (FlushViewOfFile, remarks).
func (platform) Flush(data []byte) error {
	return windows.FlushViewOfFile(addrOf(data), uintptr(len(data)))
}

// Refresh has nothing to do: views and system calls see the same bytes.
func (platform) Refresh([]byte) {}

func (platform) Lock(data []byte) error { return windows.VirtualLock(addrOf(data), uintptr(len(data))) }

// Unlock unlocks each page separately if some are not locked, because VirtualUnlock
// fails for all of them then.
func (p platform) Unlock(data []byte) error {
	err := windows.VirtualUnlock(addrOf(data), uintptr(len(data)))
	if err != windows.ERROR_NOT_LOCKED {
		return err
	}
	for len(data) > os.Getpagesize() {
		if err := p.Unlock(data[:os.Getpagesize()]); err != nil {
			return err
		}
		data = data[os.Getpagesize():]
	}
	return nil
}

var prefetchVirtualMemory = windows.NewLazySystemDLL("kernel32.dll").NewProc("PrefetchVirtualMemory")

// Advise has a call for WillNeed only, and nothing to do for Normal.
func (platform) Advise(data []byte, advice int) error {
	switch {
	case advice == sys.Normal:
		return nil
	case advice != sys.WillNeed || prefetchVirtualMemory.Find() != nil:
		return errors.ErrUnsupported
	}
	part := struct{ addr, size uintptr }{addrOf(data), uintptr(len(data))} // WIN32_MEMORY_RANGE_ENTRY
	ok, _, err := prefetchVirtualMemory.Call(uintptr(windows.CurrentProcess()), 1, uintptr(unsafe.Pointer(&part)), 0)
	if ok == 0 {
		return err
	}
	return nil
}

func (platform) Sync([]byte) error                      { return errors.ErrUnsupported }
func (platform) Prefault(*os.File, []byte, int64) error { return errors.ErrUnsupported }
func (platform) Resident([]byte) (int64, error)         { return 0, errors.ErrUnsupported }
