//go:build (linux || darwin || dragonfly || freebsd || netbsd) && !nommap

package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ResidentPages counts the pages of data that are in memory: bit 0 of each byte from
// mincore(2).
func ResidentPages(data []byte) (pages int64, err error) {
	var vec [1024]byte
	for len(data) > 0 {
		part := data[:min(len(data), len(vec)*os.Getpagesize())]
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), uintptr(unsafe.Pointer(&vec[0])))
		if errno != 0 {
			return 0, errno
		}
		for _, v := range vec[:(len(part)+os.Getpagesize()-1)/os.Getpagesize()] {
			pages += int64(v & 1)
		}
		data = data[len(part):]
	}
	return pages, nil
}
