package leveldbstorage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"github.com/syndtr/goleveldb/leveldb/util"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/adapters/leveldbstorage"
)

var options = &opt.Options{BlockCacher: opt.NoCacher, WriteBuffer: 64 << 10}

func key(i int) []byte { return fmt.Appendf(nil, "key-%06d", i) }

func value(i, version int) string { return fmt.Sprintf("value %d of version %d", i, version) }

// write puts n keys into the database in files.
func write(t *testing.T, files storage.Storage, n, version int) {
	t.Helper()
	db, err := leveldb.Open(files, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := db.Put(key(i), []byte(value(i, version)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.CompactRange(util.Range{}), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// check reads n keys of the database in files, one by one and in order.
func check(t *testing.T, files storage.Storage, n, version int) {
	t.Helper()
	db, err := leveldb.Open(files, options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if got, err := db.Get(key(i), nil); err != nil || string(got) != value(i, version) {
			t.Fatalf("%s: %q, %v", key(i), got, err)
		}
	}
	it, i := db.NewIterator(nil, nil), 0
	for ; it.Next(); i++ {
		if string(it.Key()) != string(key(i)) || string(it.Value()) != value(i, version) {
			t.Fatalf("%d is %q, %q", i, it.Key(), it.Value())
		}
	}
	it.Release()
	if err := it.Error(); err != nil || i != n {
		t.Errorf("%d keys, %v", i, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Either storage reads what the other one has written, and writes over it.
func TestOpenFile_DatabaseOfBoth(t *testing.T) {
	const n = 5_000
	path := t.TempDir()
	for version, open := range []func(string, bool) (storage.Storage, error){
		leveldbstorage.OpenFile, storage.OpenFile, leveldbstorage.OpenFile,
	} {
		files, err := open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		write(t, files, n, version)
		check(t, files, n, version)
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string, bool) (storage.Storage, error){leveldbstorage.OpenFile, storage.OpenFile} {
			files, err := open(path, false)
			if err != nil {
				t.Fatal(err)
			}
			check(t, files, n, version)
			if err := files.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The two storages keep each other out.
func TestOpenFile_Lock(t *testing.T) {
	path := t.TempDir()
	for _, open := range [][2]func(string, bool) (storage.Storage, error){
		{leveldbstorage.OpenFile, storage.OpenFile},
		{storage.OpenFile, leveldbstorage.OpenFile},
		{leveldbstorage.OpenFile, leveldbstorage.OpenFile},
	} {
		files, err := open[0](path, false)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := open[1](path, false); err == nil {
			other.Close()
			t.Error("two storages have the same directory")
		}
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStorage_Open(t *testing.T) {
	path := t.TempDir()
	files, err := leveldbstorage.OpenFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range []storage.FileDesc{{Type: storage.TypeTable, Num: 1}, {Type: storage.TypeJournal, Num: 2}, {Type: storage.TypeManifest, Num: 3}} {
		w, err := files.Create(fd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(fd.String())); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Sync(), w.Close()); err != nil {
			t.Fatal(err)
		}
		isMapped(t, files, fd, fd.String())
	}
	// Tables had another name once.
	if err := os.WriteFile(filepath.Join(path, "000004.sst"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	isMapped(t, files, storage.FileDesc{Type: storage.TypeTable, Num: 4}, "old")

	if _, err := files.Open(storage.FileDesc{Type: storage.TypeTable, Num: 9}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := files.Open(storage.FileDesc{Num: 9}); err != storage.ErrInvalidFile {
		t.Errorf("what is no file: %v", err)
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
	if _, err := files.Open(storage.FileDesc{Type: storage.TypeTable, Num: 1}); err != storage.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}

// isMapped fails the test unless the storage opens the file with package mmapfile.
func isMapped(t *testing.T, files storage.Storage, fd storage.FileDesc, content string) {
	t.Helper()
	r, err := files.Open(fd)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.(*mmapfile.File); !ok {
		t.Errorf("%v is a %T", fd, r)
	}
	b := make([]byte, len(content))
	if _, err := r.ReadAt(b, 0); err != nil || string(b) != content {
		t.Errorf("%v holds %q, %v", fd, b, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
