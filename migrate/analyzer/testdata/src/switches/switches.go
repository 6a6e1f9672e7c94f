// Package switches has type switches that find no file in their own cases.
package switches

import (
	"io"
	"os"
)

func plain(name string) bool {
	f, _ := os.Open(name) // want `f goes to r, and switches .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var r io.Reader = f
	switch r.(type) {
	case *os.File:
		return true
	}
	return false
}
