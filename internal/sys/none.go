//go:build nommap || !(unix || windows)

package sys

import (
	"errors"
	"os"
)

// Maps says whether this build maps files.
const Maps = false

// This build maps nothing, so few of these are called.

const FlagsSync = os.O_SYNC

func Datasync(f *os.File) error           { return f.Sync() }
func StorageOf(*os.File, bool) Storage    { return StorageRemote }
func AddressSpace() int64                 { return 0 }
func MajorFaults() (int64, bool)          { return 0, false }
func MarkModified(*os.File, int64, int64) {}
func Sealable(*os.File) bool              { return false }

func AccessOf(*os.File, int) (Access, error)            { return Access{}, errors.ErrUnsupported }
func CachedPages(*os.File, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
func InMemory(*os.File, int64, int64) (bool, error)     { return false, errors.ErrUnsupported }
func MissingPage() ([]byte, func())                     { return nil, nil }
