// Package types has uses of *os.File that would not compile with another type.
package types

import (
	"fmt"
	"mmap"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
)

func parameter(name string) {
	f, _ := os.Create(name) // want `os.Create stays: f goes to a parameter of debug.SetCrashOutput, of type \*os.File \(types.go:\d+\): keep \*os.File: after f.OS\(\), only ReadAt would gain`
	f.WriteAt(nil, 0)
	debug.SetCrashOutput(f, debug.CrashOptions{})
}

func fileConn(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of net.FileConn, of type \*os.File .*: keep \*os.File`
	net.FileConn(f)
}

func opened(name string) *os.File {
	f, _ := os.Open(name) // want `opened\(name\) goes to a parameter of net.FileConn, of type \*os.File .*: hand over f.OS\(\) of an mmapfile.File f there`
	f.ReadAt(nil, 0)
	f.ReadAt(nil, 10)
	return f
}

func connOfCall(name string) {
	net.FileConn(opened(name))
}

func descriptor(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of mmap.Map, of type \*os.File .*: mmapfile has File.Bytes and File.View for Map`
	mmap.Map(f, 0, 0)
	g, _ := os.Create(name) // want `g goes to a parameter of mmap.Preallocate, .*: mmapfile has the size of OpenFile for Preallocate`
	mmap.Preallocate(g, 1<<20, true)
}

func procAttr(name string) {
	f, _ := os.Open(name) // want `f goes to a slice, of type \*os.File .*: write f.OS\(\) there`
	f.ReadAt(nil, 0)
	f.ReadAt(nil, 10)
	os.StartProcess("x", nil, &os.ProcAttr{Files: []*os.File{nil, f}})
}

func containers(name string, ch chan *os.File) {
	a, _ := os.Open(name) // want `a goes to m\[name\], of type \*os.File .*: change that type by hand`
	m := map[string]*os.File{}
	m[name] = a
	b, _ := os.Open(name) // want `b goes to a channel`
	ch <- b
	c, _ := os.Open(name) // want `it also holds the elements of m .*: change that type by hand`
	for _, c = range m {
		c.WriteAt(nil, 0)
	}
	d, _ := os.Open(name) // want `it also holds a file from a channel`
	d = <-ch
	e, _ := os.Open(name) // want `it also holds an element of m`
	e, ok := m["x"]
	_, _, _ = d, e, ok
	g, _ := os.Open(name) // want `g goes to a slice, of type \*os.File`
	m2 := append([]*os.File(nil), g)
	_ = m2
}

func pointer(name string) {
	var p atomic.Pointer[os.File]
	f, _ := os.Open(name) // want `f goes to a parameter of p.Store, of type \*os.File`
	p.Store(f)
	var q **os.File
	g, _ := os.Open(name) // want `g is used in a way that is not followed`
	q = &g
	_ = q
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func first[T interface{ Close() error }](v T) T { return v }

func generic(name string) {
	f := must(os.Open(name)) // want `os.Open\(name\) goes to a parameter of must, of a generic type`
	f.WriteAt(nil, 0)
	g, _ := os.Open(name) // want `g goes to a parameter of first, of a generic type`
	first(g).WriteAt(nil, 0)
}

type named *os.File

type alias = *os.File

func names(name string) {
	f, _ := os.Open(name) // want `f is converted to types.named`
	var n named = f
	_ = n
	var g alias
	g, _ = os.Open(name) // want `g has a type that is not written as \*os.File`
	g.WriteAt(nil, 0)
	h, _ := os.Open(name) // want `it also holds n`
	h.WriteAt(nil, 0)
	h = n
	closes := func(f *os.File) { f.Close() }
	i, _ := os.Open(name) // want `it also holds n`
	closes(i)
	closes(n)
}

type embedding struct {
	*os.File
}

func embed(name string) {
	f, _ := os.Open(name) // want `field File is embedded, which promotes its methods .*: embed \*mmapfile.File if no other package asks for the \*os.File`
	e := embedding{f}
	e.WriteAt(nil, 0)
}

type opener interface {
	open(name string) (*os.File, error)
}

type disk struct{}

func (disk) open(name string) (*os.File, error) {
	return os.Open(name) // want `a result belongs to a method that an interface may ask for`
}

var _ opener = disk{}

type left struct{ f *os.File }

type right struct{ f *os.File }

func convert(name string) right {
	f, _ := os.Open(name) // want `field f is in a struct type that is converted to another`
	f.WriteAt(nil, 0)
	return right(left{f})
}

type agreeing struct{ agreed *os.File }

func anonymous(name string) {
	f, _ := os.Open(name) // want `field agreed may have to agree with a struct type without a name`
	var a struct{ agreed *os.File } = agreeing{f}
	a.agreed.WriteAt(nil, 0)
}

type shared = struct{ merged *os.File }

func aliases(name string) {
	f, _ := os.Open(name) // want `field merged may have to agree with a struct type without a name`
	s := shared{f}
	s.merged.WriteAt(nil, 0)
}

func methodExpression(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of \(\*os.File\).Close, of type \*os.File`
	(*os.File).Close(f)
}

type seeker struct{}

func (seeker) open() (*os.File, error) {
	return os.Open("x") // want `a result belongs to a method that an interface may ask for`
}

func expression() {
	f, _ := seeker.open(seeker{})
	var g *os.File = f
	g.WriteAt(nil, 0)
}

func content(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of fmt.Println as any, which may be looked into`
	fmt.Println(f)
	g, _ := os.Open(name) // want `g is used in a way that is not followed`
	h := *g
	_ = h
	i, _ := os.Open(name) // want `it is compared with v .*: change it by hand`
	var v any
	_ = v == i
	j, _ := os.Open(name) // want `it is compared with v .*: change it by hand`
	_ = j == v
}
