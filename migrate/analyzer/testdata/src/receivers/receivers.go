// Package receivers has methods of a container that other packages have.
package receivers

import (
	"io"
	"os"
)

type Readers []io.Reader

func (rs Readers) Fill(name string) {
	f, _ := os.Open(name) // want `f goes to rs\[0\], and receivers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	rs[0] = f
}

func (rs Readers) Look() bool {
	_, ok := rs[0].(*os.File)
	return ok
}
