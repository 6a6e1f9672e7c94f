// Package exported has files in declarations that other packages see.
package exported

import "os"

type Store struct {
	File *os.File
}

func NewStore(name string) *Store {
	f, _ := os.Open(name) // want `os.Open stays: field File is exported \(exported.go:7\): other packages may use it`
	f.WriteAt(nil, 0)
	return &Store{File: f}
}

func Open(name string) (*os.File, error) {
	return os.Open(name) // want `os.Open stays: a result belongs to Open, which is exported`
}

type hidden struct{}

func (hidden) Create(name string) (f *os.File, err error) {
	return os.Create(name) // want `os.Create stays: a result f belongs to Create, which is exported`
}

var Log *os.File

func openLog() {
	Log, _ = os.OpenFile("log", os.O_RDWR, 0) // want `os.OpenFile stays: Log is exported`
	Log.WriteAt(nil, 0)
}

func Size(f *os.File) int64 {
	fi, _ := f.Stat()
	return fi.Size()
}

func size(name string) int64 {
	f, _ := os.Open(name) // want `os.Open stays: parameter f belongs to Size, which is exported`
	f.WriteAt(nil, 0)
	return Size(f)
}
