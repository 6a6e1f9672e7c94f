//go:build !unix && !windows

package sys

import (
	"io"
	"io/fs"
	"math"
	"os"
)

var errTooLarge error = fs.ErrInvalid

// FileSizeLimit returns the largest number: there is no such limit.
func FileSizeLimit() int64 { return math.MaxInt64 }

// appending calls fn with a function that writes at the end of f. These systems cannot have an open
// file append from then on, so it writes over what another process appends at the same moment.
func appending(f *os.File, fn func(write func(b []byte) (int, error)) error) error {
	return fn(func(b []byte) (int, error) {
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return 0, err
		}
		return f.Write(b)
	})
}

// mayHaveLength reports whether f can have a length of size bytes. These systems tell no more than
// whether they can do it, so what another process appends at the same moment is lost.
func mayHaveLength(f *os.File, size int64) bool {
	fi, err := f.Stat()
	if err == nil {
		if err = f.Truncate(size); err == nil {
			err = f.Truncate(fi.Size())
		}
	}
	return err == nil
}

func freeSpace(*os.File) (n int64, ok bool) { return 0, false }
