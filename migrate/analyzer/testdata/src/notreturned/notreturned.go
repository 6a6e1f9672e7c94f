// Package notreturned asserts what it has not handed over.
package notreturned

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
)

func printed(name string) {
	f, _ := os.Create(name) // want `os.Create can be`
	f.WriteAt(nil, 0)
	fmt.Fprintln(f, name)
}

func logs() bool {
	_, ok := log.Writer().(*os.File)
	return ok
}

// message cannot hold a file.
type message struct{ text fmt.Stringer }

func is[T fmt.Stringer](m message) bool {
	_, ok := m.text.(T)
	return ok
}

func as[T any](r io.Reader) bool {
	_, ok := r.(T)
	return ok
}

func asBuffer(name string) bool {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	return as[*bytes.Buffer](f)
}

// zero and again have instances that say nothing of as.
func zero[T any]() (t T) { return t }

func again[T any](n int) bool { return n > 0 && (again[T](n-1) || as[T](nil)) }

var _, _ = zero[*os.File](), again[int](1)
