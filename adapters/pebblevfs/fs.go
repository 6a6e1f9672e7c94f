// Package pebblevfs opens the files of a Pebble database for reading with package mmapfile.
//
// Pebble gains a little if its block cache is so small that it reads the same blocks again.
// Writes, which it appends, and reads that its cache answers gain nothing: see
// docs/where-it-pays.md of package mmapfile.
//
//	db, err := pebble.Open(dir, &pebble.Options{FS: pebblevfs.New(vfs.Default)})
//
// This module is v0: a minor version may change its API.
package pebblevfs

import (
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"go.dw1.io/mmapfile"
)

// New returns base, except that package mmapfile opens the files that are only read. base
// is [vfs.Default], or another file system with the names of the operating system.
func New(base vfs.FS) vfs.FS { return mapped{base} }

type mapped struct{ vfs.FS }

// Unwrap returns the base, for [vfs.Root].
func (m mapped) Unwrap() vfs.FS { return m.FS }

// Open opens the file with package mmapfile. If that fails, the base opens it, or returns the error.
func (m mapped) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	opened, err := mmapfile.Open(name)
	if err != nil {
		return m.FS.Open(name, opts...)
	}
	f := file{opened, m.FS}
	for _, opt := range opts {
		opt.Apply(f)
	}
	return f, nil
}

// file is open for reading.
type file struct {
	*mmapfile.File
	base vfs.FS
}

func (f file) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return fileInfo{info, f}, nil
}

// Prefetch asks the system to read the range ahead.
func (f file) Prefetch(off, n int64) error {
	if err := f.Advise(off, n, mmapfile.WillNeed); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// The methods for writes have nothing to do.

func (file) Preallocate(off, n int64) error            { return nil }
func (file) SyncTo(n int64) (fullSync bool, err error) { return false, nil }
func (f file) SyncData() error                         { return f.Sync() }

type fileInfo struct {
	os.FileInfo
	f file
}

// DeviceID asks the base, because package vfs exports no way to make one.
func (i fileInfo) DeviceID() vfs.DeviceID {
	info, err := i.f.base.Stat(i.f.Name())
	if err != nil {
		return vfs.DeviceID{}
	}
	return info.DeviceID()
}
