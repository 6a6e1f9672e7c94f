//go:build !linux

package main

import (
	"errors"
	"os"
)

const missingDrop = "this system has no posix_fadvise that drops pages"

func drop(*os.File) error { return errors.ErrUnsupported }

func readPages(f *os.File) error { return readAll(f) }
