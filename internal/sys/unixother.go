//go:build unix && !linux && !nommap

package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

func MapUnlocked(fd int, length uintptr, prot int) (unsafe.Pointer, error) {
	return MapShared(fd, length, prot)
}

// Advise calls madvise(2). The caller populates by itself.
func Advise(data []byte, advice int) error {
	hints := [...]int{
		Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
		WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED,
	}
	if advice >= len(hints) {
		return errors.ErrUnsupported
	}
	return unix.Madvise(data, hints[advice])
}

func mapMissing(n uintptr) (unsafe.Pointer, error) { return mapInaccessible(n) }
