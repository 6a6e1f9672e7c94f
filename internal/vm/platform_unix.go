//go:build unix && !nommap

package vm

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	CloseNeedsLock = false // MAP_FIXED replaces a range at once: readers need no lock

	// Pages past the file's end fault until the file has grown to them (mmap(2)).
	MapsBeyondEnd = true

	// OpenBSD has no unified buffer cache: mmap(2) there requires msync(2) between mapped
	// access and system calls. Mapped bytes are read and written through the mapping alone,
	// and the rest is synchronised.
	NoUnifiedCache = runtime.GOOS == "openbsd"
)

// MapLimit is the length of the part of a file that calls map by themselves. It is 512 MiB
// of the 32-bit address space, 64 TiB elsewhere. System calls serve the bytes past it.
const MapLimit int64 = 1 << (29 + 17*(^uint(0)>>63))

const ErrNoMemory = unix.ENOMEM
