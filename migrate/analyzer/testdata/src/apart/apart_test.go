package apart_test

import (
	"os"

	"pools"
)

func asserts(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of pools.PoolConvert, and apart_test .* asserts \*os.File`
	f.WriteAt(nil, 0)
	pools.PoolConvert(f)
	_, ok := pools.New().PoolGet().(*os.File)
	return ok
}
