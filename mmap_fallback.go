//go:build nommap || !(unix || windows)

package mmapfile

import (
	"errors"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// platform has the calls of the system about memory: see [vm.Platform].
type platform struct{}

var _ vm.Platform = platform{}

func (platform) Map(*os.File, int, bool, bool) (data []byte, writable bool, err error) {
	return nil, false, errors.ErrUnsupported
}

// MapPrivate reads the file into memory, which is never written back.
func (platform) MapPrivate(f *os.File, length int, _ bool) ([]byte, error) {
	data := sys.AlignedBytes(length)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(length)), data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // the file was truncated meanwhile
	}
	return data, err
}

// The collector frees memory that is not mapped.

func (platform) Reserve(data, _ []byte) (held []byte) { return data }
func (platform) Unmap(_, _ []byte)                    {}

func (platform) MapReserved(*os.File, []byte, int, bool) (view, rest []byte, err error) {
	return nil, nil, errors.ErrUnsupported
}

func (platform) RefusesMapped(error) bool { return false }
func (platform) Refresh([]byte)           {}

func (platform) Flush([]byte) error                     { return errors.ErrUnsupported }
func (platform) Sync([]byte) error                      { return errors.ErrUnsupported }
func (platform) Advise([]byte, int) error               { return errors.ErrUnsupported }
func (platform) Prefault(*os.File, []byte, int64) error { return errors.ErrUnsupported }
func (platform) Lock([]byte) error                      { return errors.ErrUnsupported }
func (platform) Unlock([]byte) error                    { return errors.ErrUnsupported }
func (platform) Resident([]byte) (int64, error)         { return 0, errors.ErrUnsupported }
