//go:build unix && !linux && !nommap

package mmapfile

import "unsafe"

func mmapUnlocked(fd int, length uintptr, prot int) (unsafe.Pointer, error) {
	return mmapShared(fd, length, prot)
}
