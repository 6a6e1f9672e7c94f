package sys

import (
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

var errTooLarge error = windows.ERROR_FILE_TOO_LARGE

// FileSizeLimit returns the largest number: there is no such limit.
func FileSizeLimit() int64 { return math.MaxInt64 }

// appending calls fn with a function that appends to f, wherever the end is by then: an offset of
// all ones stands for the end (OVERLAPPED in WriteFile).
func appending(f *os.File, fn func(write func(b []byte) (int, error)) error) error {
	return fn(func(b []byte) (n int, err error) {
		err = Borrow(f, func(fd int) error {
			var done uint32
			end := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
			err := windows.WriteFile(windows.Handle(fd), b, &done, &end)
			n = int(done)
			return err
		})
		return n, err
	})
}

// mayHaveLength reports true: the free space tells enough.
func mayHaveLength(*os.File, int64) bool { return true }

// freeSpace returns the number of bytes that are free where f is.
func freeSpace(f *os.File) (n int64, ok bool) {
	name, err := windows.UTF16PtrFromString(filepath.Dir(f.Name()))
	if err != nil {
		return 0, false
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, nil, nil, &free)
	return int64(min(free, math.MaxInt64)), err == nil
}
