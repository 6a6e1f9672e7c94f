// Package funcs has function values that take or return files.
package funcs

import (
	"errors"
	"os"
)

type table struct {
	index, head *os.File
}

// Close calls a literal for each file.
func (t *table) Close() error {
	var errs []error
	doClose := func(f *os.File) {
		if err := f.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	doClose(t.index)
	doClose(t.head)
	return errors.Join(errs...)
}

func openRead(name string) (*os.File, error) {
	return os.Open(name) // want `os.Open can be mmapfile.Open, which may pay: WriteAt`
}

func openAppend(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) // want `os.OpenFile can be mmapfile.OpenFile, which may pay: WriteAt`
}

func (t *table) open(name string, opener func(string) (*os.File, error)) (f *os.File, err error) {
	return opener(name)
}

func newTable(name string) (t *table, err error) {
	t = &table{}
	if t.index, err = t.open(name, openRead); err != nil {
		return nil, err
	}
	t.head, err = t.open(name, openAppend)
	t.head.WriteAt([]byte("x"), 0)
	return t, err
}

// before calls a parameter that may be nil.
func before(name string, fn func(f *os.File) error) error {
	f, err := os.CreateTemp("", name) // want `os.CreateTemp can be`
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if fn != nil {
		return fn(f)
	}
	f.WriteAt([]byte("x"), 0)
	return nil
}

func both(name string) error {
	return errors.Join(before(name, nil), before(name, func(f *os.File) error {
		_, err := f.WriteAt([]byte("y"), 0)
		return err
	}))
}

type options struct {
	openFile func(string, int, os.FileMode) (*os.File, error)
	inherit  func(*os.File, error)
}

var defaults = options{openFile: os.OpenFile} // want `os.OpenFile can be mmapfile.Options{}.OpenFile, which may pay: WriteAt`

func (o options) open(name string) {
	f, _ := os.Open(name) // want `os.Open can be mmapfile.Open, which may pay: WriteAt`
	if f == nil {
		f, _ = o.openFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	}
	f.WriteAt([]byte("x"), 0)
	f.Close()
}

// create is a variable, so that a test can replace it.
var create = os.Create // want `os.Create can be mmapfile.Create, which may pay: WriteAt`

func created(name string) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte("x"), 8)
	return err
}

// header has a value before a block.
func header(name string) error {
	if open := os.OpenFile; name != "" { // want `os.OpenFile can be mmapfile.Options{}.OpenFile`
		f, err := open(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		f.WriteAt([]byte("x"), 0)
		return f.Close()
	}
	return nil
}

// nested has a function that takes one.
func nested(name string) error {
	each := func(yield func(*os.File) error) error {
		f, err := os.Open(name) // want `os.Open can be`
		if err != nil {
			return err
		}
		defer f.Close()
		return yield(f)
	}
	return handOn(each)
}

func handOn(each func(yield func(*os.File) error) error) error {
	return each(func(f *os.File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err })
}
