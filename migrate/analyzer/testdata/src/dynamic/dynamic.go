// Package dynamic calls a method that a package which imports it may have.
package dynamic

import (
	"os"

	"pools"
)

// Asserts has any Pool.
func Asserts(p pools.Pool, name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of pools.PoolConvert, and dynamic .* asserts \*os.File`
	f.WriteAt(nil, 0)
	pools.PoolConvert(f)
	_, ok := p.PoolGet().(*os.File)
	return ok
}
