//go:build (linux || darwin || dragonfly || freebsd || netbsd) && !nommap

package mmapfile

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// residentPages counts the pages of data that are in memory: bit 0 in what
// mincore(2) says of each.
func residentPages(data []byte) (pages int64, err error) {
	var vec [1024]byte
	for len(data) > 0 {
		part := data[:min(len(data), len(vec)*pageSize)]
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), uintptr(unsafe.Pointer(&vec[0])))
		if errno != 0 {
			return 0, errno
		}
		for _, v := range vec[:(len(part)+pageSize-1)/pageSize] {
			pages += int64(v & 1)
		}
		data = data[len(part):]
	}
	return pages, nil
}
