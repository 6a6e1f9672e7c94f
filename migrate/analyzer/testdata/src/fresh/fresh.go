// Package fresh asserts what another package has made itself.
package fresh

import (
	"os"

	"pools"
)

func asserts(name string) bool {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	pools.PoolConvert(f)
	r, _ := pools.PoolOpened(name)
	_, ok := r.(*os.File)
	return ok
}
