// Package ends has calls of Seek to the two ends of a file.
package ends

import (
	"io"
	"os"
)

func start(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for range 3 {
		f.Seek(0, io.SeekStart)
		io.Copy(io.Discard, f)
	}
}

func end(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for i := range int64(3) {
		f.Seek(-i, io.SeekEnd)
		io.Copy(io.Discard, f)
	}
}

func between(name string) {
	f, _ := os.Open(name) // want `likely to pay: Seek`
	for range 3 {
		f.Seek(10, io.SeekStart)
		io.Copy(io.Discard, f)
	}
}

var all *os.File

func open(name string) {
	all, _ = os.Open(name) // want `likely to pay: small or repeated reads`
}

func next(p []byte) { all.Read(p) }
