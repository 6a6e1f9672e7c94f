package eventfile

import (
	"errors"
	"math"
	"os"

	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/sys"
)

// Extend makes a file of size bytes longer, with blocks. A file that is not mapped needs no blocks: there a full
// disk is an error of the write, and not a fault.
func Extend(f logdisk.File, size, to int64) error {
	if !sys.Maps || to > math.MaxInt {
		return f.Truncate(to)
	}
	err := f.Allocate(size, to)
	if errors.Is(err, errors.ErrUnsupported) { // NFS before 4.2, FUSE, other systems
		return WriteZeros(f, size, to)
	}
	return err
}

// WriteZeros writes zeros between two offsets, in pieces that suit the folios of the page cache.
func WriteZeros(f logdisk.File, from, to int64) error {
	for from < to {
		n, err := f.WriteAt(zeros[:min(to-from, int64(len(zeros))-from%int64(len(zeros)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// TruncateOrZero truncates a file of size bytes, or makes the bytes after end zeros.
func TruncateOrZero(f logdisk.File, end, size int64) error {
	if f.Truncate(end) == nil {
		return nil
	}
	return WriteZeros(f, end, size)
}

var zeros [1 << 20]byte // needs no memory, since nothing is stored to it

// pieceBytes is how much WriteSpare writes and flushes at a time. A flush of events waits for a piece
// at most.
const pieceBytes = 1 << 20

// WriteSpare creates a file of size zeros for a later segment, durably: a flush of events in blocks
// that were only allocated needs the journal.
func WriteSpare(name string, size int64) error {
	f, err := logdisk.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Allocate(0, size)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	for off := int64(0); err == nil && off < size; off += pieceBytes {
		if err = WriteZeros(f, off, min(off+pieceBytes, size)); err == nil {
			err = f.FlushRange(off, min(pieceBytes, size-off))
		}
	}
	if err == nil {
		err = f.Flush()
	}
	return err
}
