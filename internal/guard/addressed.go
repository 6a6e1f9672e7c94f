package guard

import (
	"runtime/debug"
	"sync"

	"go.dw1.io/mmapfile/internal/sys"
)

// addressed reports whether faults carry their address. That is a property of the machine,
// so it is tried once, on a page that is missing.
var addressed = sync.OnceValue(func() bool {
	p, free := sys.MissingPage()
	if p == nil {
		return true // as on every machine but some emulators
	}
	defer free()
	return tryAddress(p)
})

func tryAddress(p []byte) (right bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _, right = In(recover(), p) }()
	touch(p[:1])
	return false
}
