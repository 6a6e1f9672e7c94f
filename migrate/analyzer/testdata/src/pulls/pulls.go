// Package pulls gets a file of functions that two other packages return.
package pulls

import (
	"io"
	"iter"
	"os"
	"slices"
)

func ofPull(name string) bool {
	f, _ := os.Open(name) // want `f goes to a slice, and pulls .* asserts \*os.File`
	f.WriteAt(nil, 0)
	next, stop := iter.Pull(slices.Values([]io.Reader{f}))
	defer stop()
	r, _ := next()
	_, ok := r.(*os.File)
	return ok
}
