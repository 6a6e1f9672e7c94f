//go:build windows && !nommap

package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// FlagsSync are the flags of an open call with which a write is durable when it returns.
const FlagsSync = os.O_SYNC

// Maps says whether this build maps files.
const Maps = true

// AccessOf uses the flags of the open call, because a handle does not tell them. System
// calls write a file that other code has opened (a negative flag). The same holds for
// O_APPEND, O_SYNC or a flag of the system's own, such as FILE_FLAG_WRITE_THROUGH.
func AccessOf(_ *os.File, flag int) (Access, error) {
	const known = os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC
	return Access{
		Read:  flag < 0 || flag&os.O_WRONLY == 0,
		Write: flag < 0 || flag&os.O_RDWR != 0,
		Plain: flag >= 0 && flag&^known == 0,
	}, nil
}

// MissingPage returns a page of memory whose access faults, or nil if there is none.
func MissingPage() (p []byte, free func()) {
	n := uintptr(os.Getpagesize())
	addr, err := windows.VirtualAlloc(0, n, windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, nil
	}
	p = unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n) // vet would report a plain conversion
	return p, func() { windows.VirtualFree(addr, 0, windows.MEM_RELEASE) }
}

// StorageOf recognises a network share by FILE_REMOTE_PROTOCOL_INFO, which fails for local
// files (GetFileInformationByHandleEx). Local files are mapped for Bytes and View only.
// While a view exists, no other process and no other handle can truncate the file
// (ERROR_USER_MAPPED_FILE), as they can with os.File.
func StorageOf(f *os.File, _ bool) Storage {
	kind := StorageRemote
	Borrow(f, func(fd int) error {
		h := windows.Handle(fd)
		var info [512]byte // FILE_REMOTE_PROTOCOL_INFO needs 116
		err := windows.GetFileInformationByHandleEx(h, windows.FileRemoteProtocolInfo, &info[0], uint32(len(info)))
		switch err {
		case windows.ERROR_INVALID_PARAMETER, windows.ERROR_NOT_SUPPORTED,
			windows.ERROR_INVALID_FUNCTION, windows.ERROR_CALL_NOT_IMPLEMENTED:
			kind = StorageOnRequest
		}
		return err
	})
	return kind
}

var reOpenFile = windows.NewLazySystemDLL("kernel32.dll").NewProc("ReOpenFile")

// MarkModified sets f's last write time to now, through a handle of its own. A handle that
// has set a time may keep later writes from moving the time (FILE_BASIC_INFORMATION in
// MS-FSCC 2.4.7 says how that is requested). before is the time that the last write through
// the system has left. If the present write time differs from before and from the change
// time (if there is one), a program has set it, and it stands.
func MarkModified(f *os.File, before, _ int64) {
	var now windows.Filetime
	windows.GetSystemTimeAsFileTime(&now)
	Borrow(f, func(fd int) error {
		h := windows.Handle(fd)
		var basic struct { // FILE_BASIC_INFO
			creation, access, write, change int64 // FILETIME
			attributes                      uint32
			_                               uint32
		}
		err := windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic)))
		const epoch = 116444736000000000 // 1970, in the tenths of a microsecond since 1601 of FILETIME
		if err == nil && (basic.write-epoch)*100 != before && basic.change != 0 && basic.change != basic.write {
			return nil
		}
		const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
		own, _, _ := reOpenFile.Call(uintptr(h), windows.FILE_WRITE_ATTRIBUTES, shareAll, 0)
		if again := windows.Handle(own); again != windows.InvalidHandle {
			defer windows.CloseHandle(again)
			h = again
		}
		return windows.SetFileTime(h, nil, nil, &now)
	})
}

func AddressSpace() int64        { return 0 }
func MajorFaults() (int64, bool) { return 0, false }
