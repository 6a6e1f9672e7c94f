//go:build windows && !nommap

package mmapfile

import (
	"os"
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

// mapFile maps the first length bytes of f, for writing if it can.
func mapFile(f *os.File, length int, write bool) (data []byte, writable bool, err error) {
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

// mapView maps through a section of the file's own size, so that it cannot
// grow the file. The view keeps the section alive.
func mapView(h windows.Handle, length int, protect, access uint32) ([]byte, error) {
	section, err := windows.CreateFileMapping(h, nil, protect, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(section)
	addr, err := windows.MapViewOfFile(section, access, 0, 0, uintptr(length))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(addrPointer(addr)), length), nil
}

// addrPointer is a conversion that vet would take for a mistake: the address
// is not one of Go's heap.
func addrPointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

func reserve([]byte) {}

func unmap(data []byte) {
	windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

// descriptorMode tells from the flags of our own open call: a handle does not
// say. What New was given is written by system calls.
func descriptorMode(_ *os.File, flag int) (mode, error) {
	return mode{
		read:  flag < 0 || flag&os.O_WRONLY == 0,
		write: flag < 0 || flag&os.O_RDWR != 0,
		plain: flag >= 0 && flag&(os.O_APPEND|os.O_SYNC) == 0,
	}, nil
}

func withHandle(f *os.File, fn func(h windows.Handle)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { fn(windows.Handle(fd)) })
}

// flush writes the view's changed pages to the file; FlushFileBuffers, which
// comes after it, does the rest (FlushViewOfFile, remarks).
func (f *file) flush() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	m := f.m.Load()
	if m == nil || !m.writable {
		return nil
	}
	return windows.FlushViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(m.data))), uintptr(len(m.data)))
}

// touch sets f's last write time to now.
func touch(f *os.File) {
	var now windows.Filetime
	windows.GetSystemTimeAsFileTime(&now)
	withHandle(f, func(h windows.Handle) { windows.SetFileTime(h, nil, nil, &now) })
}

// Views and system calls see the same bytes.
func (f *file) settle(int64, int) error { return nil }
func (f *file) absorb([]byte, int64)    {}

// storageOf tells a network share by FILE_REMOTE_PROTOCOL_INFO, which fails for
// what is local (GetFileInformationByHandleEx).
func storageOf(f *os.File) storage {
	kind := storageRemote
	withHandle(f, func(h windows.Handle) {
		var info [512]byte // FILE_REMOTE_PROTOCOL_INFO has 116, and room for more
		if windows.GetFileInformationByHandleEx(h, windows.FileRemoteProtocolInfo, &info[0], uint32(len(info))) != nil {
			kind = storageLocal
		}
	})
	return kind
}
