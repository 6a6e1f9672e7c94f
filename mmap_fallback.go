//go:build nommap || !(unix || windows)

package mmapfile

import (
	"errors"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

const (
	canMap         = false // except for private Files, which are copies in memory
	closeNeedsLock = false
	mapsBeyondEnd  = false
	noUnifiedCache = false

	mapLimit = int64(^uint(0) >> 1)
)

var errNoMemory = errors.ErrUnsupported

func mapFile(*os.File, int, bool, bool) (data []byte, writable bool, err error) {
	return nil, false, errors.ErrUnsupported
}

// mapPrivate reads the file into memory, which is never written back.
func mapPrivate(f *os.File, length int, _ bool) ([]byte, error) {
	data := sys.AlignedBytes(length)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(length)), data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // the file was truncated meanwhile
	}
	return data, err
}

// The collector frees memory that is not mapped.

func reserve(data, _ []byte) (held []byte) { return data }
func unmap(_, _ []byte)                    {}

func mapReserved(*os.File, []byte, int, bool) (view, rest []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}

func refusesMapped(error) bool { return false }
func flushMemory([]byte) error { return errors.ErrUnsupported }
func refreshMemory([]byte)     {}
