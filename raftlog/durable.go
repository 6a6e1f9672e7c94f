package raftlog

import (
	"errors"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// syncDir makes the names in a directory durable. A test lets it fail.
var syncDir = logdisk.SyncDir

// writeDurably writes b, and returns when it is durable.
func writeDurably(f logdisk.File, b []byte, off int64) error {
	if _, err := f.WriteAt(b, off); err != nil || dataSync != 0 {
		return err
	}
	return f.Flush()
}

// readStored returns what the disk has of a file: after a write that has failed, the page cache has that,
// too, and no later flush makes it durable.
func readStored(name string) ([]byte, error) {
	f, err := logdisk.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stored, err := f.Stored()
	switch {
	case err != nil:
		return nil, err
	case stored == nil:
		return io.ReadAll(logdisk.Reader(f))
	}
	defer stored.Close()
	return io.ReadAll(logdisk.Reader(stored))
}

// create is os.Create.
func create(name string) (logdisk.File, error) {
	return logdisk.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// writeFile makes a file with the content b, and that durable.
func writeFile(name string, b []byte) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Flush()
	}
	return errors.Join(err, f.Close())
}
