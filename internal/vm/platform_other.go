//go:build nommap || !(unix || windows)

package vm

import "errors"

const (
	CloseNeedsLock = false
	MapsBeyondEnd  = false
	NoUnifiedCache = false

	MapLimit = int64(^uint(0) >> 1)
)

var ErrNoMemory = errors.ErrUnsupported
