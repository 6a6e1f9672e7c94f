//go:build (unix || windows) && !linux && !nommap

package sys

import (
	"errors"
	"os"
)

// SyncsRanges is false: POSIX does not say that msync makes a range durable as fsync does a file.
const SyncsRanges = false

func SyncMemory([]byte) error { return errors.ErrUnsupported }

func Datasync(f *os.File) error { return f.Sync() }

func Prefault(*os.File, []byte, int64) error { return errors.ErrUnsupported }

func Sealable(*os.File) bool { return false }

func CachedPages(*os.File, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
func InMemory(*os.File, int64, int64) (bool, error)     { return false, errors.ErrUnsupported }
