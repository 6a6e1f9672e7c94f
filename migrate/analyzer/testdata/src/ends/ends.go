// Package ends has calls of Seek to the two ends of a file.
package ends

import (
	"io"
	"os"
)

func start(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for range 300 {
		f.Seek(0, io.SeekStart)
		io.Copy(io.Discard, f)
	}
}

func end(name string) {
	f, _ := os.Open(name) // want `without a gain in sight: read once`
	for i := range int64(300) {
		f.Seek(-i, io.SeekEnd)
		io.Copy(io.Discard, f)
	}
}

func between(name string) {
	f, _ := os.Open(name) // want `likely to pay: Seek in a loop`
	for range 300 {
		f.Seek(10, io.SeekStart)
		io.Copy(io.Discard, f)
	}
}

var all *os.File

func open(name string) {
	all, _ = os.Open(name) // want `may pay: small or repeated reads`
}

func next(p []byte) { all.Read(p) }

// appended writes each record past the end.
func appended(name string) {
	f, _ := os.Create(name) // want `which may pay: WriteAt`
	for i := range int64(300) {
		f.WriteAt(nil, i)
	}
}

func overwritten(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `likely to pay: WriteAt in a loop`
	for i := range int64(300) {
		f.WriteAt(nil, i)
	}
}
