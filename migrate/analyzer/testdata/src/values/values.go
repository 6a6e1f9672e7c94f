// Package values calls a function by a variable.
package values

import (
	"io"
	"os"
)

func isOne(r io.Reader) bool {
	_, ok := r.(*os.File)
	return ok
}

func ofValue(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of look, and values .* asserts \*os.File`
	f.WriteAt(nil, 0)
	look := isOne
	return look(f)
}
