// Package panics recovers a file.
package panics

import (
	"io"
	"os"
)

func ofPanic(name string) (ok bool) {
	f, _ := os.Open(name) // want `f goes to r, and panics .* asserts \*os.File`
	f.WriteAt(nil, 0)
	defer func() { _, ok = recover().(*os.File) }()
	var r io.Reader = f
	panic(r)
}
