package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/adapters/billyfs"
	"go.dw1.io/mmapfile/adapters/leveldbstorage"
	"go.dw1.io/mmapfile/adapters/pebblevfs"
)

// file is what the programs use of an open file. Its values are an *os.File or an *mmapfile.File,
// so that a library finds every method that it asks for.
type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.ReaderFrom
	io.WriterTo
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
}

// implementation opens files.
type implementation struct {
	openFile func(name string, flag int, perm fs.FileMode) (file, error)
	dirFS    func(dir string) fs.FS
	// The libraries' own implementations, and those of the adapters.
	billyFS      func(dir string) billy.Filesystem
	levelStorage func(path string, readOnly bool) (storage.Storage, error)
	pebbleFS     vfs.FS
}

var implementations = map[string]implementation{
	"os": {
		func(name string, flag int, perm fs.FileMode) (file, error) { return os.OpenFile(name, flag, perm) },
		os.DirFS,
		func(dir string) billy.Filesystem { return osfs.New(dir) },
		storage.OpenFile,
		vfs.Default,
	},
	"mmapfile": {
		func(name string, flag int, perm fs.FileMode) (file, error) {
			return mmapfile.OpenFile(name, flag, perm)
		},
		mmapfile.DirFS,
		billyfs.New,
		leveldbstorage.OpenFile,
		pebblevfs.New(vfs.Default),
	},
}

func implementationOf(name string) (implementation, error) {
	impl, ok := implementations[name]
	if !ok {
		return impl, fmt.Errorf("no implementation %q", name)
	}
	return impl, nil
}

func (impl implementation) open(name string) (file, error) {
	return impl.openFile(name, os.O_RDONLY, 0)
}

func (impl implementation) create(name string) (file, error) {
	return impl.openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}
