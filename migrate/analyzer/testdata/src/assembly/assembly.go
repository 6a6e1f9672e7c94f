// Package assembly has a function that copies what a pointer leads to.
package assembly

import (
	"io"
	"os"
)

type source struct{ in io.Reader }

type target struct{ out io.Reader }

func move(to *target, from *source)

func ofMove(name string) bool {
	f, _ := os.Open(name) // want `f goes to field in, and assembly .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var to target
	move(&to, &source{in: f})
	_, ok := to.out.(*os.File)
	return ok
}
