package raftlog

import (
	"errors"
	"io"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

// syncDir makes the names in a directory durable. A test lets it fail.
var syncDir = sys.SyncDir

// writeDurably writes b, and returns when it is durable.
func writeDurably(f *os.File, b []byte, off int64) error {
	if _, err := f.WriteAt(b, off); err != nil || dataSync != 0 {
		return err
	}
	return f.Sync()
}

// readStored returns what the disk has of a file: after a write that has failed, the page cache has that,
// too, and no later flush makes it durable.
func readStored(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stored, err := sys.FlushAndDrop(f)
	switch {
	case err != nil:
		return nil, err
	case stored == nil:
		return io.ReadAll(f)
	}
	defer stored.Close()
	return io.ReadAll(io.NewSectionReader(stored, 0, math.MaxInt64))
}

// writeFile makes a file with the content b, and that durable.
func writeFile(name string, b []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
