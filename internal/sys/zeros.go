package sys

import (
	"io"
	"io/fs"
	"os"
	"runtime"
)

// appendZeros makes f at least size bytes long by appending zeros, where the system has no better
// way. What another process appends meanwhile stays, and the zeros come after it. A hole before the
// end stays one. If the disk is full, the zeros are taken back if no one else has the file open.
func appendZeros(f *os.File, size int64) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() >= size {
		return err
	}
	// What the system refuses must not fill the disk first.
	if err := mayHave(f, size); err != nil {
		return err
	}
	if err := hasRoom(f, size-fi.Size()); err != nil {
		return err
	}
	end := fi.Size()
	err = appending(f, func(write func(b []byte) (int, error)) (err error) {
		var zeros [64 << 10]byte
		for end < size && err == nil {
			var n int
			n, err = write(zeros[:min(size-end, int64(len(zeros)))])
			end += int64(n)
		}
		return err
	})
	if IsFull(err) {
		shorten(f, end, fi.Size()) // unless another process has appended
	}
	if _, serr := f.Seek(0, io.SeekStart); err == nil {
		err = serr
	}
	return err
}

// mayHave returns the error with which the system refuses any file a length of size bytes.
func mayHave(f *os.File, size int64) error {
	if runtime.GOOS == "js" && size > 1<<53 {
		return fs.ErrInvalid // JavaScript has no such numbers
	}
	if size > FileSizeLimit() || !mayHaveLength(f, size) {
		return errTooLarge
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// hasRoom returns ErrFull if the file system of f tells that it has less than need bytes.
func hasRoom(f *os.File, need int64) error {
	if free, ok := freeSpace(f); ok && need > free {
		return ErrFull
	}
	return nil
}
