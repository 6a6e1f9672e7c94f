// Package generics has a file in a field of a generic type.
package generics

import (
	"io"
	"os"
)

type generic[T any] struct{ r io.Reader }

func (g *generic[T]) isFile() bool {
	_, ok := g.r.(*os.File)
	return ok
}

func ofGeneric(name string) bool {
	f, _ := os.Open(name) // want `f goes to g.r, and generics .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var g generic[int]
	g.r = f
	return g.isFile()
}
