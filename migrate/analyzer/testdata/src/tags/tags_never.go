//go:build never

package tags

import (
	"io"
	"os"
)

func stat(s store) (os.FileInfo, error) {
	f, _ := open("x")
	f.Close()
	shared.Close()
	return s.file.Stat()
}

// The fields of both have no name here.
func others(name string) (unkeyed, map[string]nested) {
	h, _ := os.Open(name)
	return unkeyed{h}, map[string]nested{name: {h}}
}

func isTerminal(w io.Writer) bool { _, ok := w.(*os.File); return ok }

func (screen) draw(w io.Writer) {
	switch w := w.(type) {
	case *os.File:
		w.Sync()
	}
}

func isFile(r io.Reader) bool { return is[*os.File](r) }

func words(word string) int {
	plain := len(word)
	return plain
}
