package sys

import (
	"io"
	"io/fs"
	"os"
	"runtime"
)

// writeZeros makes f size bytes long by writing zeros after its end, if the system has no
// better way. A hole before the end stays one.
func writeZeros(f *os.File, size int64) (err error) {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if size <= fi.Size() {
		return nil
	}
	if runtime.GOOS == "js" && size > 1<<53 {
		return fs.ErrInvalid // JavaScript has no such numbers, and Truncate panics
	}
	// An impossible length must not fill the disk first.
	if err := f.Truncate(size); err != nil {
		return err
	}
	if err := f.Truncate(fi.Size()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Truncate(fi.Size())
		}
	}()
	// At the cursor, since WriteAt refuses a file opened for appending.
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	var zeros [64 << 10]byte
	for left := size - fi.Size(); left > 0 && err == nil; {
		var n int
		n, err = f.Write(zeros[:min(left, int64(len(zeros)))])
		left -= int64(n)
	}
	if _, serr := f.Seek(0, io.SeekStart); err == nil {
		err = serr
	}
	return err
}
