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

// Advices are those of madvise(2) for the values for Advise.
var Advices = [...]int{
	Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
	WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED,
}

func CheckBlocks(int, int64, int64) error { return errors.ErrUnsupported }

func mapMissing(n uintptr) (unsafe.Pointer, error) { return mapInaccessible(n) }
