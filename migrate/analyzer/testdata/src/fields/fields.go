// Package fields has files in struct fields, parameters and results.
package fields

import (
	"io"
	"os"
)

type store struct {
	// data and index are opened together.
	data, index *os.File
	size        int64
}

type Table struct {
	*store
	log *os.File /* of writes */
}

func open(name string) (*os.File, error) {
	return os.Open(name) // want `os.Open can be`
}

func create(name string) (f *os.File, err error) {
	f, err = os.Create(name) // want `os.Create can be`
	if err != nil {
		return
	}
	return f, nil
}

func newStore(name string) (*store, error) {
	data, err := open(name + ".data")
	if err != nil {
		return nil, err
	}
	s := &store{data, nil, 1}
	s.index, err = open(name + ".index")
	return s, err
}

func New(name string) (*Table, error) {
	log, err := create(name)
	if err != nil {
		return nil, err
	}
	s, err := newStore(name)
	return &Table{store: s, log: log}, err
}

func (t *Table) get(p []byte) error {
	_, err := t.data.ReadAt(p, 8)
	return err
}

func (t *Table) put(p []byte) error {
	if err := seekTo(t.log, 0); err != nil {
		return err
	}
	_, err := t.log.Write(p)
	return err
}

func seekTo(f *os.File, off int64) error {
	_, err := f.Seek(off, io.SeekStart)
	return err
}

// Reader returns an interface, so that the type of the file does not show.
func (t *Table) Reader() io.ReaderAt { return t.index }

type pair[T any] struct {
	value T
	file  *os.File
}

func (p *pair[T]) read() { p.file.WriteAt(nil, 0) }

func newPair() *pair[int] {
	f, _ := os.Open("x") // want `os.Open can be`
	return &pair[int]{1, f}
}

// openTwo has results that are handed on as arguments.
func openTwo(name string) (a, b *os.File) {
	a, _ = os.Open(name) // want `os.Open can be`
	b, _ = os.Open(name) // want `os.Open can be`
	a, b = b, a
	return a, b
}

func closeTwo(a, b *os.File) {
	a.WriteAt(nil, 0)
	b.Close()
}

type outer struct {
	inner struct2
	*table2
}

type struct2 struct{ file (*os.File) }

type table2 struct{ files2 *os.File }

func nested(name string) []*outer {
	closeTwo(openTwo(name))
	f := func() *os.File {
		f, _ := os.Open(name) // want `os.Open can be`
		return f
	}()
	f.WriteAt(nil, 0)
	all := []*outer{{inner: struct2{f}}, {struct2{file: f}, &table2{f}}}
	for _, o := range all {
		switch g := o.inner.file; {
		case g == nil, o.files2 != g:
			o.files2 = nil
		}
	}
	return all
}
