package funcs

import (
	"os"
	"sync"
)

func openData() (*os.File, error) {
	return os.Open("data") // want `openData goes to a parameter of sync.OnceValues, a function of \*os.File`
}

var openOnce = sync.OnceValues(openData)

// Options has a field that other packages set.
type Options struct {
	OpenFile func(string, int, os.FileMode) (*os.File, error)
}

var defaultOptions = Options{OpenFile: os.OpenFile} // want `os.OpenFile stays: field OpenFile is exported \(refused.go:16\): other packages may use it: change it by hand`

// Open is inferred to be a function of *os.File.
var Open = os.Open // want `os.Open stays: Open is exported`

func openThis(name string) (*os.File, error) {
	return os.Open(name) // want `Open2 is exported`
}

var Open2 = openThis

func value() any {
	var fn any = os.OpenFile // want `os.OpenFile goes to fn, where its type is not followed .*: change that type by hand: mmapfile.Options{}.OpenFile fits then`
	return fn
}

func values() {
	fns := []func(string) (*os.File, error){os.Open} // want `os.Open stays: a result is in a function type that is not followed`
	f, _ := os.Open("x")                             // want `os.Open stays: a result is in a function type that is not followed`
	for _, fn := range fns {
		f, _ = fn("x")
	}
	f.Close()
	var fn func(string) (*os.File, error)
	for _, fn = range fns {
		f, _ = fn("x")
	}
}

type opener func(name string) (*os.File, error)

func typed(o opener, name string) {
	f, _ := os.Open(name) // want `a result is in a function type that is not followed`
	if f == nil {
		f, _ = o(name)
	}
	f.Close()
}

func pointer(name string) {
	open := func() *os.File {
		f, _ := os.Open(name) // want `open is used in a way that is not followed`
		return f
	}
	p := &open
	(*p)().Close()
}

func apply[F func(*os.File) error | func(*os.File)](fn F) {}

func inUnion(name string) {
	fn := func(f *os.File) {}
	f, _ := os.Open(name) // want `fn goes to a parameter of apply, where its type is not followed`
	fn(f)
	apply(fn)
}

type leftFunc struct{ open func() *os.File }

type rightFunc struct{ open func() *os.File }

func convertFunc(name string) rightFunc {
	return rightFunc(leftFunc{func() *os.File {
		f, _ := os.Open(name) // want `field open is in a struct type that is converted to another`
		return f
	}})
}

func foreign(name string, o struct{ unnamed func() *os.File }) {
	f, _ := os.Open(name) // want `field unnamed may have to agree with a struct type without a name`
	if f == nil {
		f = o.unnamed()
	}
	f.Close()
}
