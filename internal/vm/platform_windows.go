//go:build windows && !nommap

package vm

import "golang.org/x/sys/windows"

const (
	// A view cannot be replaced by a reservation in one step, so readers hold the lock. A
	// mapping is not longer than the file, because that would grow the file.
	CloseNeedsLock = true
	MapsBeyondEnd  = false
	NoUnifiedCache = false
)

const MapLimit int64 = 1 << (29 + 17*(^uint(0)>>63))

const ErrNoMemory = windows.ERROR_NOT_ENOUGH_MEMORY
