// Package locals has files that stay in local variables.
package locals

import (
	"errors"
	"io"
	"os"
)

func short(name string) (n int, err error) {
	f, err := os.Open(name) // want `os.Open can be mmapfile.Open, which may pay: WriteAt`
	if err != nil {
		return 0, err
	}
	defer f.Close() // a comment stays
	return f.WriteAt(make([]byte, 8), 0)
}

func declared(name string) error {
	var f *os.File // the file
	var err error
	if f, err = os.OpenFile(name, os.O_RDWR, 0o644); err != nil { // want `os.OpenFile can be mmapfile.OpenFile, .*: WriteAt`
		return err
	}
	_, err = f.WriteAt([]byte("x"), 9)
	return errors.Join(err, f.Close())
}

var inferred, errInferred = os.Open("x") // want `os.Open can be`

func useInferred() { inferred.Seek(8, io.SeekStart) }

// reused has one variable for two files.
func reused(dir string) {
	f, err := os.CreateTemp(dir, "") // want `os.CreateTemp can be`
	if f == nil || err != nil {
		return
	}
	f.Close()
	f, err = os.OpenInRoot(dir, "x") // want `os.OpenInRoot can be`
	if err == nil {
		g := f
		f.WriteAt(nil, 0)
		if g != f {
			g.Close()
		}
	}
}

// two variables of one declaration change together.
func two(name string) {
	var a, b *os.File
	a, _ = os.Open(name) // want `os.Open can be`
	b, _ = os.Open(name) // want `os.Open can be`
	func() { a.WriteAt(nil, 0) }()
	closer := b.Close
	defer closer()
}

// literal is called where it stands.
func literal(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	defer func(f *os.File) {
		_ = f.Close()
	}(f)
}

func interfaces(name string) io.ReaderAt {
	f, _ := os.Open(name) // want `os.Open can be`
	var r io.Reader = (f)
	io.Copy(io.Discard, r)
	for _, c := range []io.Closer{f} {
		defer c.Close()
	}
	s := io.NewSectionReader(f, 0, 10)
	return s
}

func unused(name string) {
	_, err := os.Open(name) // want `os.Open can be mmapfile.Open, without a gain in sight: neither read nor written here`
	_ = err
}

// assigned is merged with the parameter of a literal.
func assigned(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	fn := func(g *os.File) { g = f; g.Close() }
	fn(nil)
}
