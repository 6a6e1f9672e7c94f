//go:build nommap || !(unix || windows)

package vm

import "errors"

const (
	CanMap         = false // except for private Files, which are copies in memory
	CloseNeedsLock = false
	MapsBeyondEnd  = false
	NoUnifiedCache = false

	MapLimit = int64(^uint(0) >> 1)
)

var ErrNoMemory = errors.ErrUnsupported
