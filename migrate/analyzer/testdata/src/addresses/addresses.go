package addresses // want package:"PoolPut 0" package:` AddressOf AddressTaken AppendSeq `

// Package addresses sets variables by their addresses.

import (
	"io"
	"os"
	"unsafe"

	"pools"
)

func AddressOf(p uintptr) io.Reader {
	var r io.Reader
	*(*[2]uintptr)(unsafe.Pointer(&r)) = [2]uintptr{p, p}
	return r
}

type box struct{ taken io.Reader }

var all box

// Address returns where a reader is kept.
func Address() unsafe.Pointer { return unsafe.Pointer(&all) }

func AddressTaken() io.Reader { return all.taken }

// moved puts a file into another package, which returns it.
func moved(p unsafe.Pointer, name string) bool {
	f, _ := os.Open(name) // want `f goes to \*\(\*io.Reader\)\(p\), and addresses .* asserts \*os.File`
	f.WriteAt(nil, 0)
	*(*io.Reader)(p) = f
	r, _ := pools.PoolOpened(name)
	_, ok := r.(*os.File)
	return ok
}
