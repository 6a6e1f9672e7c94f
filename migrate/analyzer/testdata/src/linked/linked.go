// Package linked sets what another package has, by its link name.
package linked

import (
	"io"
	"os"
	_ "unsafe"

	"pools"
)

//go:linkname made pools.made
var made io.Reader

func asserts(name string) bool {
	f, _ := os.Open(name) // want `f goes to made, and linked .* asserts \*os.File`
	made = f
	r, _ := pools.PoolOpened(name)
	_, ok := r.(*os.File)
	return ok
}
