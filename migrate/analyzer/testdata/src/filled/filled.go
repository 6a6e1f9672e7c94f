// Package filled looks at what the caller has handed to another function.
package filled

import (
	"io"
	"os"
)

// Fill and Look share what the caller has.
func Fill(rs []io.Reader, name string) {
	f, _ := os.Open(name) // want `f goes to rs\[0\], and filled .* asserts \*os.File`
	f.WriteAt(nil, 0)
	rs[0] = f
}

func Look(rs []io.Reader) bool { // want Look:`asserts \*os.File`
	_, ok := rs[0].(*os.File)
	return ok
}
