//go:build unix && !linux && !nommap

package mmapfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// POSIX does not say that msync makes a range durable as fsync does a file.
const syncsRanges = false

func syncMapped([]byte) error { return errors.ErrUnsupported }

func datasync(f *os.File) error { return f.Sync() }

// adviseMemory is madvise(2). The populating advices are left to the caller.
func adviseMemory(data []byte, a Advice) error {
	hints := [...]int{
		Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
		WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED,
	}
	if int(a) >= len(hints) {
		return errors.ErrUnsupported
	}
	return unix.Madvise(data, hints[a])
}

func cachedPages(*os.File, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
func inMemory(*os.File, int64, int64) (bool, error)     { return false, errors.ErrUnsupported }

func prefaultPages(*os.File, []byte, int64) error { return errors.ErrUnsupported }
