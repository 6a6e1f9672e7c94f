package pebblevfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"go.dw1.io/mmapfile/adapters/pebblevfs"
)

func key(i int) []byte { return fmt.Appendf(nil, "key-%06d", i) }

func value(i, version int) string { return fmt.Sprintf("value %d of version %d", i, version) }

// open opens the database with a cache that holds next to nothing.
func open(t *testing.T, dir string, files vfs.FS) *pebble.DB {
	t.Helper()
	cache := pebble.NewCache(1 << 10)
	defer cache.Unref()
	db, err := pebble.Open(dir, &pebble.Options{FS: files, Cache: cache, MemTableSize: 256 << 10, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// quiet logs what fails alone.
type quiet struct{ *testing.T }

func (quiet) Infof(string, ...any) {}

// Either file system reads what the other one has written, and writes over it.
func TestNew_DatabaseOfBoth(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	both := []vfs.FS{pebblevfs.New(vfs.Default), vfs.Default}
	for version, files := range append(both, both[0]) {
		db := open(t, dir, files)
		for i := range n {
			if err := db.Set(key(i), []byte(value(i, version)), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(db.Flush(), db.Compact(t.Context(), key(0), key(n), true), db.Close()); err != nil {
			t.Fatal(err)
		}
		for _, files := range both {
			check(t, open(t, dir, files), n, version)
		}
	}
}

// check reads n keys, one by one and in order, and closes the database.
func check(t *testing.T, db *pebble.DB, n, version int) {
	t.Helper()
	for i := range n {
		got, closer, err := db.Get(key(i))
		if err != nil || string(got) != value(i, version) {
			t.Fatalf("%s: %q, %v", key(i), got, err)
		}
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for ok := it.First(); ok; ok = it.Next() {
		if string(it.Key()) != string(key(i)) || string(it.Value()) != value(i, version) {
			t.Fatalf("%d is %q, %q", i, it.Key(), it.Value())
		}
		i++
	}
	if err := errors.Join(it.Error(), it.Close(), db.Close()); err != nil || i != n {
		t.Errorf("%d keys, %v", i, err)
	}
}

func TestOpen_File(t *testing.T) {
	files := pebblevfs.New(vfs.Default)
	name := filepath.Join(t.TempDir(), "file")
	if _, err := files.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	writeFile(t, files, name, "content")

	f, err := files.Open(name, vfs.RandomReadsOption, vfs.SequentialReadsOption)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.(interface{ Bytes() []byte }); !ok {
		t.Errorf("a file is a %T", f)
	}
	if err := errors.Join(f.Prefetch(0, 100), f.Preallocate(0, 100), f.SyncData()); err != nil {
		t.Error(err)
	}
	if full, err := f.SyncTo(3); full || err != nil {
		t.Errorf("SyncTo: %v, %v", full, err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 7 {
		t.Errorf("Stat: %v, %v", info, err)
	}
	if want, err := vfs.Default.Stat(name); err != nil || info.DeviceID() != want.DeviceID() {
		t.Errorf("it is on another device: %v, want %v (%v)", info.DeviceID(), want.DeviceID(), err)
	}
	b := make([]byte, 10)
	if n, err := f.ReadAt(b, 3); n != 4 || err != io.EOF || string(b[:n]) != "tent" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if got, err := io.ReadAll(f); string(got) != "content" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if vfs.Root(files) != vfs.Default {
		t.Error("the base is not found")
	}
}

// writeFile writes a file as Pebble does.
func writeFile(t *testing.T, files vfs.FS, name, content string) {
	t.Helper()
	f, err := files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(content))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
