package eventfile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Open opens a regular file. Another file is [errors.ErrUnsupported].
func Open(name string, flag int) (f *mmapfile.File, err error) {
	if err := CheckRegular(name); err != nil {
		return nil, err
	}
	err = retryShared(func() (err error) {
		f, err = mmapfile.OpenFile(name, flag, 0o666)
		return err
	})
	return f, err
}

// CheckRegular returns an error if the file is there and not regular: opening a pipe may block.
func CheckRegular(name string) error {
	if fi, err := os.Stat(name); err == nil && !fi.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
	}
	return nil
}

// Rename renames a file that another program, such as a virus scanner, may have open for a moment.
func Rename(from, to string) error {
	return retryShared(func() error { return os.Rename(from, to) })
}

// retryShared calls fn, which opens or renames a file, until no other handle excludes it, or some
// 60 ms have passed. On Windows a file cannot be opened while another handle renames or removes it,
// and so not for a moment after a segment has got its name.
func retryShared(fn func() error) error {
	err := fn()
	for pause := time.Millisecond; excluded(err) && pause <= 32*time.Millisecond; pause *= 2 {
		time.Sleep(pause)
		err = fn()
	}
	return err
}

// ReadHeader returns the header of a log, zero if it has none yet, and the size of its file. The size of one
// with an end mark is its WriteOffset.
func ReadHeader(name string) (h Header, size int64, err error) {
	f, err := Open(name, os.O_RDONLY)
	if err != nil {
		return h, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return h, 0, err
	}
	var b [HeaderSize]byte
	if fi.Size() >= HeaderSize {
		if _, err := f.ReadAt(b[:], 0); err != nil {
			return h, 0, err
		}
	}
	h, size = ParseHeader(b[:]), fi.Size()
	if h.End < size && hasMark(f.ReadAt, h.End) {
		size = h.End
	}
	return h, size, nil
}

// OpenStored prepares a log of size bytes for its next writer. If the log was not closed in order,
// a flush of it may have failed: then the page cache has events that the disk does not have, and
// a further flush does not write them. So OpenStored flushes the file, and drops its pages before
// this process maps it. The error may be that of an earlier flush. If pages stay, because another process
// maps them, only the reader that OpenStored returns is to be believed; it is nil otherwise.
// What has no event there must be truncated before it is written: to write these pages again
// and flush them does not allocate their blocks (Linux 6.18, ext4). The length tells of a flush
// only if there are events: a header alone may never have been flushed.
func OpenStored(f *os.File, size int64) (*sys.Stored, error) {
	var b [HeaderSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	if h := ParseHeader(b[:]); size == 0 || size > HeaderSize && size == h.End && h.Valid(size) {
		return nil, nil
	}
	return sys.FlushAndDrop(f)
}

// EndFile is TruncateOrMark by name.
func EndFile(name string, end int64) error {
	f, err := Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	return TruncateOrMark(f, end)
}

// SetEnd sets WriteOffset and EventCount, durably.
func SetEnd(name string, end, count int64) error {
	f, err := Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	// Readers load the offset as one word.
	if word, err := mmapfile.At[[2]atomic.Uint64](f, AtWriteOffset); err == nil && sys.Maps {
		word[0].Store(LittleWord(uint64(end)))
		word[1].Store(LittleWord(uint64(count)))
	} else {
		h := Header{End: end, Count: count}.Bytes()
		if _, err := f.WriteAt(h[:AtStart], 0); err != nil {
			return err
		}
	}
	return f.SyncRange(0, math.MaxInt64) // fdatasync(2), which needs no commit of the journal
}
