// Package copies calls methods that os.File has, too. There they ask for what lets the system copy.
package copies

import (
	"io"
	"os"
)

func writeTo(name string, from io.WriterTo) {
	f, _ := os.Create(name) // want `os.Create can be`
	f.WriteAt(nil, 0)
	from.WriteTo(f)
}

func readFrom(name string, to io.ReaderFrom) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	to.ReadFrom(f)
}
