// Package leveldbstorage opens the files of a goleveldb database for reading with package
// mmapfile.
//
// A database gains if it reads the same blocks again, because it has no block cache or a
// small one. Writes, which goleveldb appends, and reads that its cache answers gain
// nothing: see docs/where-it-pays.md of package mmapfile.
//
//	files, err := leveldbstorage.OpenFile(path, false)
//	db, err := leveldb.Open(files, nil)
//
// This module is v0: a minor version may change its API.
package leveldbstorage

import (
	"github.com/syndtr/goleveldb/leveldb/storage"

	"go.dw1.io/mmapfile"
)

// OpenFile opens the directory at path, as [storage.OpenFile] does. Both take the same lock, write the same
// files, and return the same errors.
func OpenFile(path string, readOnly bool) (storage.Storage, error) {
	files, err := storage.OpenFile(path, readOnly)
	if err != nil {
		return nil, err
	}
	return mapped{files}, nil
}

// mapped is the storage of goleveldb, except that package mmapfile opens the files that are only read.
type mapped struct{ storage.Storage }

// Open opens the file with goleveldb, which knows its name, and then again with package mmapfile.
func (m mapped) Open(fd storage.FileDesc) (storage.Reader, error) {
	r, err := m.Storage.Open(fd)
	if err != nil {
		return nil, err
	}
	named, ok := r.(interface{ Name() string })
	if !ok {
		return r, nil
	}
	f, err := mmapfile.Open(named.Name())
	if err != nil {
		return r, nil // for example, it was removed in between
	}
	if err := r.Close(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
