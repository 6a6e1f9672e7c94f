//go:build (unix || windows) && !linux && !nommap

package sys

import (
	"errors"
	"os"
)

func Datasync(f *os.File) error { return f.Sync() }

func Sealable(*os.File) bool { return false }

func CachedPages(*os.File, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
func InMemory(*os.File, int64, int64) (bool, error)     { return false, errors.ErrUnsupported }
