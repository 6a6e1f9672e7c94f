// Package ranges assigns containers to an interface in a loop.
package ranges

import (
	"io"
	"os"
)

func ofRange(name string) bool {
	f, _ := os.Open(name) // want `f goes to .*, and ranges .* asserts \*os.File`
	f.WriteAt(nil, 0)
	m := map[string]io.Reader{}
	var a any
	for _, a = range []map[string]io.Reader{m} {
		a.(map[string]io.Reader)["f"] = f
	}
	_, ok := m["f"].(*os.File)
	return ok
}
