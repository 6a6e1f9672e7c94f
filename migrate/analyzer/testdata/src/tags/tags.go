// Package tags has files that this build leaves out.
package tags

import (
	"io"
	"os"
	_ "unsafe"
)

var shared *os.File

var linked *os.File

//go:linkname linked

func openShared(name string) {
	shared, _ = os.Open(name) // want `os.Open stays: shared may be used in tags_never.go, which this build leaves out .*: change both by hand`
	shared.WriteAt(nil, 0)
}

func openLinked(name string) {
	linked, _ = os.Open(name) // want `os.Open stays: linked may be used in a //go:linkname`
	linked.WriteAt(nil, 0)
}

func open(name string) (*os.File, error) {
	return os.Open(name) // want `os.Open stays: a result may be used in tags_never.go`
}

type store struct{ file *os.File }

func newStore(name string) store {
	f, _ := os.Open(name) // want `os.Open stays: field file may be used in tags_never.go`
	f.WriteAt(nil, 0)
	return store{f}
}

func local(name string) {
	file, _ := os.Open(name) // want `os.Open can be`
	file.WriteAt(nil, 0)
}

type unkeyed struct{ inUnkeyed *os.File }

func newUnkeyed(name string) unkeyed {
	f, _ := os.Open(name) // want `os.Open stays: field inUnkeyed may be used in tags_never.go`
	f.WriteAt(nil, 0)
	return unkeyed{f}
}

type nested struct{ inNested *os.File }

func newNested(name string) nested {
	f, _ := os.Open(name) // want `os.Open stays: field inNested may be used in tags_never.go`
	f.WriteAt(nil, 0)
	return nested{f}
}

type screen struct{}

func terminal(name string) bool {
	f, _ := os.Create(name) // want `f goes to a parameter of isTerminal, and isTerminal asserts \*os.File in tags_never.go`
	f.WriteAt(nil, 0)
	return isTerminal(f)
}

func method(name string) {
	f, _ := os.Create(name) // want `f goes to w, and draw asserts \*os.File in tags_never.go, which this build leaves out`
	f.WriteAt(nil, 0)
	var w io.Writer = f
	screen{}.draw(w)
}

func is[T any](r io.Reader) bool {
	_, ok := r.(T)
	return ok
}

func instance(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of is\[io.Writer\], and tags .* asserts T, which may be \*os.File`
	f.WriteAt(nil, 0)
	return is[io.Writer](f)
}

// Variables of others in tags_never.go have these names.
type cache struct{ word *os.File }

func plain(name string) (*os.File, error) {
	return os.Open(name) // want `os.Open can be`
}

func unrelated(name string) cache {
	f, _ := plain(name)
	f.WriteAt(nil, 0)
	return cache{f}
}
