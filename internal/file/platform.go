package file

import (
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// What a kind of system can do, constant so that what it cannot do compiles to nothing.
const (
	canMap         = sys.Maps // if not, memory is a copy
	closeNeedsLock = vm.CloseNeedsLock
	mapsBeyondEnd  = vm.MapsBeyondEnd
	noUnifiedCache = vm.NoUnifiedCache
	mapLimit       = vm.MapLimit
)

var errNoMemory error = vm.ErrNoMemory
