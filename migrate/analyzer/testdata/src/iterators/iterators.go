// Package iterators looks at what a function yields.
package iterators

import (
	"io"
	"os"
)

func isFile(r io.Reader) bool {
	_, ok := r.(*os.File)
	return ok
}

func yields(name string) func(yield func(io.Reader) bool) {
	return func(yield func(io.Reader) bool) {
		f, _ := os.Open(name) // want `f goes to a parameter of yield, and iterators .* asserts \*os.File`
		f.WriteAt(nil, 0)
		yield(f)
	}
}

func ofIterator(name string) {
	for r := range yields(name) {
		isFile(r)
	}
}
