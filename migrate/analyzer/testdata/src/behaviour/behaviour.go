// Package behaviour has uses that compile with another type and do something else.
package behaviour

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func stdin(name string) {
	f, _ := os.Open(name) // want `f goes to cmd.Stdin, and os/exec .* asserts \*os.File .*: keep \*os.File: after f.OS\(\), only ReadAt would gain`
	cmd := exec.Command("cat")
	cmd.Stdin = f
	out, _ := os.Create(name) // want `out goes to cmd.Stdout, and os/exec .* asserts \*os.File`
	cmd.Stdout = out
	errs, _ := os.Create(name) // want `errs goes to field Stderr, and os/exec .* asserts \*os.File`
	run(&exec.Cmd{Stderr: errs})
}

func run(*exec.Cmd) {}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && f.Name() != ""
}

func terminal(name string) {
	f, _ := os.Create(name) // want `f goes to a parameter of isTerminal, and behaviour \(behaviour.go:\d+\) asserts \*os.File .*: change that parameter by hand`
	f.WriteAt(nil, 0)
	isTerminal(f)
}

func size(r io.Reader) int64 {
	rs := []io.Reader{nil, r}
	rs = append(rs, r)
	for _, r := range rs {
		switch r := r.(type) {
		case io.Seeker:
		case *os.File:
			fi, _ := r.Stat()
			return fi.Size()
		}
	}
	return 0
}

func typeSwitch(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of size, and behaviour .* asserts \*os.File`
	f.WriteAt(nil, 0)
	size(f)
}

type bar struct{ out io.Writer }

func (b *bar) draw() {
	if f, ok := b.out.(interface{ Fd() uintptr }); ok {
		f.Fd()
	}
}

func asksForFd(name string) {
	f, _ := os.Create(name) // want `f goes to field out, and behaviour .* asks for Fd`
	f.WriteAt(nil, 0)
	(&bar{out: f}).draw()
}

// length is the length of the readers that say so.
func length(r io.Reader) int64 {
	if l, ok := r.(interface{ Len() int64 }); ok {
		return l.Len()
	}
	return -1
}

func asksForLen(name string) {
	f, _ := os.Open(name) // want `f goes to a parameter of length, and behaviour .* asks for Len`
	f.WriteAt(nil, 0)
	length(f)
}

// left is what is left to read, for the readers that say so. Neither type has such a Len.
func left(r io.Reader) int {
	if b, ok := r.(interface {
		Bytes() []byte
		Len() int
	}); ok {
		return b.Len()
	}
	return -1
}

func asksForIntLen(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.ReadAt(nil, 0)
	f.ReadAt(nil, 1)
	left(f)
}

// open returns what a caller looks at.
func open(name string) (io.Reader, error) {
	return os.Open(name) // want `goes to a result, and behaviour .* asserts \*os.File`
}

func looks() bool {
	r, _ := open("x")
	_, ok := r.(*os.File)
	return ok
}

func descriptor(name string) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `Fd leaves the offset to the kernel for good.*: lock a file of its own`
	syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	f.WriteAt(nil, 0)
	g, _ := os.Open(name) // want `SyscallConn leaves the offset to the kernel for good.*: keep \*os.File`
	g.SyscallConn()
	var h syscall.Conn
	h, _ = os.Open(name) // want `os.Open\(name\) goes to h, which can ask for its descriptor`
	_ = h
	i, _ := os.Open(name) // want `Fd leaves the offset`
	fd := i.Fd
	fd()
	j, _ := os.Open(name) // want `Fd leaves the offset .*: mmapfile has File.Bytes and File.View for Mmap`
	syscall.Mmap(int(j.Fd()), 0, 1, syscall.PROT_READ, syscall.MAP_SHARED)
}

func standard(name string) {
	f := os.Stdin
	if name != "-" {
		f, _ = os.Open(name) // want `it also holds os.Stdin .*: keep the two apart, or hand the other to mmapfile.New`
	}
	f.WriteAt(nil, 0)
	var out *os.File = os.Stdout
	out, _ = os.Create(name) // want `it also holds os.Stdout`
	_ = out
	g, _ := os.Create(name) // want `g goes to os.Stderr, of type \*os.File`
	os.Stderr = g
	h, _ := os.Open(name) // want `it also holds os.Stdin`
	if h == os.Stdin {
		h.WriteAt(nil, 0)
	}
}

func pipes(name string) {
	f, _ := os.Open(name) // want `it also holds the result of os.NewFile`
	f = os.NewFile(3, "pipe")
	f.WriteAt(nil, 0)
	g, _ := os.Open(name) // want `it also holds the result of os.Pipe`
	g, h, _ := os.Pipe()
	g.WriteAt(nil, 0)
	h.Close()
	i, _ := os.Open(name) // want `it also holds what a type assertion finds`
	var r io.Reader = os.Stdin
	i, ok := r.(*os.File)
	i.WriteAt(nil, 0)
	_ = ok
}

func harmless(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	runtime.KeepAlive(f)
}

// Pool hands out files as an interface, and takes them back.
type Pool interface {
	Get() io.ReadWriteSeeker
	Put(io.ReadWriteSeeker)
}

type pool struct{ dir string }

func (p pool) Get() io.ReadWriteSeeker {
	f, _ := os.CreateTemp(p.dir, "") // want `f goes to a result, and behaviour .* asserts \*os.File`
	return f
}

func (p pool) Put(rw io.ReadWriteSeeker) { // want Put:`asserts \*os.File`
	if f, ok := rw.(*os.File); ok {
		f.Close()
	}
}

func dynamic(name string, p Pool, fn func(io.Writer)) {
	f, _ := os.OpenFile(name, os.O_RDWR, 0) // want `f goes to a parameter of p.Put, and behaviour .* asserts \*os.File`
	f.WriteAt(nil, 0)
	p.Put(f)
}
