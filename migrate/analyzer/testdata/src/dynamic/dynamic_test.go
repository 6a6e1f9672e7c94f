package dynamic_test

import (
	"os"

	_ "dynamic"
	"pools"
)

func asserts(name string) bool {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	pools.PoolConvert(f)
	_, ok := pools.New().PoolGet().(*os.File)
	return ok
}
