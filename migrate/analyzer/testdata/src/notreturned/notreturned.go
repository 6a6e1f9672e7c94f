// Package notreturned asserts what it has not handed over.
package notreturned

import (
	"fmt"
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
