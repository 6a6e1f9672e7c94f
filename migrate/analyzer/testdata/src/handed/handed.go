// Package handed asserts what a function value gives or gets.
package handed

import (
	"io"
	"os"

	"pools"
)

func result(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of pools.PoolMake, and handed .* asserts \*os.File`
	_, ok := pools.PoolMake(f)().(*os.File)
	return ok
}

func copied(name string) bool {
	f, _ := os.Open(name) // want `f goes to .*, and handed .* asserts \*os.File`
	m := map[string]io.Reader{}
	var a any = m
	b := a
	b.(map[string]io.Reader)["f"] = f
	_, ok := m["f"].(*os.File)
	return ok
}
