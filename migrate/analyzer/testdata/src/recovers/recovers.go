// Package recovers recovers what another package panics with.
package recovers

import (
	"os"

	"pools"
)

func ofRecover(name string) (ok bool) {
	f, _ := os.Open(name) // want `f goes to a parameter of pools.PoolGiven, and recovers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	defer func() { _, ok = recover().(*os.File) }()
	pools.PoolGiven(f)
	return false
}
