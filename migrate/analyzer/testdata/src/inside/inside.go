// Package inside looks at files that code out of sight never has.
package inside

import (
	"io"
	"os"
)

func isFile(r io.Reader) bool {
	_, ok := r.(*os.File)
	return ok
}

type readers []io.Reader

func (rs *readers) add(r io.Reader) { *rs = append(*rs, r) }

type owner struct{ readers }

func ofReceiver(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of o.add, and inside .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var o owner
	o.add(f)
	return isFile(o.readers[0])
}

func ofArray(name string) bool {
	f, _ := os.Open(name) // want `f goes to an array, and inside .* asserts \*os.File`
	f.WriteAt(nil, 0)
	a := [1]io.Reader{f}
	_, ok := a[0].(*os.File)
	return ok
}

type shelf struct{ r io.Reader }

func ofElement(name string) bool {
	f, _ := os.Open(name) // want `f goes to field r, and inside .* asserts \*os.File`
	f.WriteAt(nil, 0)
	shelves := []*shelf{{r: f}}
	_, ok := shelves[0].r.(*os.File)
	return ok
}
