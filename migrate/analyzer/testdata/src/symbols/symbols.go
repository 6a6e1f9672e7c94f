// Package symbols has variables that only its assembly copies.
package symbols

import (
	"io"
	"os"
)

var given, taken io.Reader

func exchange()

func ofSymbols(name string) bool {
	f, _ := os.Open(name) // want `f goes to given, and symbols .* asserts \*os.File`
	f.WriteAt(nil, 0)
	given = f
	exchange()
	_, ok := taken.(*os.File)
	return ok
}
