// Package callbacks asserts what another package calls a function with.
package callbacks

import (
	"io"
	"os"

	"pools"
)

func callback(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of pools.PoolEach, and callbacks .* asserts \*os.File`
	pools.PoolEach(f, func(r io.Reader) { _, _ = r.(*os.File) })
}
