package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// file is what a lookup needs of an *os.File or a *mmapfile.File.
type file interface {
	io.ReaderAt
	Name() string
}

// sizeOf returns the size of a file that has a record at least. It opens nothing: opening a pipe would wait.
func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	switch {
	case name == "":
		return 0, errors.New("the name of the file is empty")
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, fmt.Errorf("%s is a directory", name)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a regular file", name)
	case info.Size() < recordSize:
		return 0, fmt.Errorf("%s has %d bytes, and a record has %d", name, info.Size(), recordSize)
	}
	return info.Size(), nil
}

// makeFile makes a file in the temporary directory, and returns its name.
func makeFile(ctx context.Context) (name string, err error) {
	f, err := os.CreateTemp("", "mmapfile-first-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	fmt.Fprintf(os.Stderr, "making %s (%d MiB) ", f.Name(), passSize>>20)
	random, block := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	for n := 0; n < passSize; n += len(block) {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		random.Read(block)
		if _, err := f.Write(block); err != nil {
			return "", err
		}
		if n%(passSize/8) == 0 {
			fmt.Fprint(os.Stderr, ".")
		}
	}
	fmt.Fprint(os.Stderr, " ")
	return f.Name(), nil
}
