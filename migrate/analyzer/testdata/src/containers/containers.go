// Package containers looks at files that code elsewhere has put into a container, and in ways that do not
// name *os.File.
package containers

import (
	"io"
	"maps"
	"os"
	"slices"

	"go.dw1.io/mmapfile"
)

// Recursive types end.
type (
	tree   []tree
	forest map[string]forest
	link   *link
)

func recursive(t tree, f forest, l link) (tree, forest, link) {
	t2, f2, l2 := t, f, l
	return t2, f2, l2
}

func isFile(r io.Reader) bool {
	_, ok := r.(*os.File)
	return ok
}

func send(ch chan<- io.Reader, name string) {
	f, _ := os.Open(name) // want `f goes to a channel, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	ch <- f
}

func receive(name string) bool {
	ch := make(chan io.Reader)
	go send(ch, name)
	return isFile(<-ch)
}

func fillSlice(rs []io.Reader, name string) {
	f, _ := os.Open(name) // want `f goes to rs\[0\], and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	rs[0] = f
}

func ofSlice(name string) bool {
	rs := make([]io.Reader, 1)
	fillSlice(rs, name)
	return isFile(rs[0])
}

func fillMap(m map[string]io.Reader, name string) {
	f, _ := os.Open(name) // want `f goes to m\[name\], and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	m[name] = f
}

func ofMap(name string) bool {
	m := map[string]io.Reader{}
	fillMap(m, name)
	return isFile(m[name])
}

func ofKeys(name string) {
	f, _ := os.Open(name) // want `f goes to r, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var r io.Reader = f
	for r := range map[io.Reader]int{r: 1} {
		isFile(r)
	}
	g, _ := os.Open(name) // want `g goes to s, and containers .* asserts \*os.File`
	g.WriteAt(nil, 0)
	var s io.Reader = g
	seen := map[io.Reader]bool{}
	seen[s] = true
	for r := range seen {
		isFile(r)
	}
}

func setPointer(p *io.Reader, name string) {
	f, _ := os.Open(name) // want `f goes to \*p, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	*p = f
}

func ofPointer(name string) bool {
	var r io.Reader
	setPointer(&r, name)
	return isFile(r)
}

func appendTo(rs *[]io.Reader, r io.Reader) { *rs = append(*rs, r) }

func ofAppended(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of appendTo, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	var rs []io.Reader
	appendTo(&rs, f)
	return isFile(rs[0])
}

func ofCopy(name string) bool {
	f, _ := os.Open(name) // want `f goes to a slice, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	from, to := []io.Reader{f}, make([]io.Reader, 1)
	copy(to, from)
	return isFile(to[0])
}

func ofClone(name string) bool {
	f, _ := os.Open(name) // want `f goes to a slice, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	return isFile(slices.Clone([]io.Reader{f})[0])
}

func ofValues(name string) {
	f, _ := os.Open(name) // want `f goes to a map, and containers .* asserts \*os.File`
	f.WriteAt(nil, 0)
	for r := range maps.Values(map[string]io.Reader{name: f}) {
		isFile(r)
	}
}

func isMapped(r io.Reader) bool {
	_, ok := r.(*mmapfile.File)
	return ok
}

func asks(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of isMapped, and containers .* asserts \*mmapfile.File`
	f.WriteAt(nil, 0)
	return isMapped(f)
}

func as[T any](r io.Reader) bool {
	_, ok := r.(T)
	return ok
}

func asksFor(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of as\[\*os.File\], and containers .* asserts T, which may be \*os.File`
	f.WriteAt(nil, 0)
	return as[*os.File](f)
}

func asEither[T, U any](r io.Reader) bool { return as[T](r) || as[U](r) }

func handsOn(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of asEither\[int, \*os.File\], and containers .* asserts T, which may be \*os.File`
	f.WriteAt(nil, 0)
	return asEither[int, *os.File](f)
}

func asPointer[T any](r io.Reader) bool {
	_, ok := any(r).(*T)
	return ok
}

func asksForPointer(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of asPointer\[os.File\], and containers .* asserts \*T, which may be \*os.File`
	f.WriteAt(nil, 0)
	return asPointer[os.File](f)
}

func asMethods[T any](r io.Reader) bool {
	_, ok := r.(T)
	return ok
}

func asksForFd(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of asMethods\[.*\], and containers .* asserts T, which may be \*os.File or tell it apart`
	f.WriteAt(nil, 0)
	return asMethods[interface{ Fd() uintptr }](f)
}
