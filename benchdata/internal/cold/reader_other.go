//go:build !linux

package cold

import (
	"errors"
	"io"
)

// Missing says why nothing can be measured here, if nothing can.
const Missing = "it needs Linux, whose page cache can be told to drop a file"

type reader interface {
	io.ReaderAt
	io.Closer
	size() int64
	file() file
}

func open(string, string) (reader, error)   { return nil, errors.ErrUnsupported }
func adviseFile(reader, int64, int64) error { return errors.ErrUnsupported }
func majorFaults() float64                  { return 0 }
func join(string) error                     { return nil }

// Group is a control group with a limit.
type Group struct{}

// NewMemoryGroup makes a group with a limit of memory.
func NewMemoryGroup(int64) (*Group, error) { return nil, errors.ErrUnsupported }

// NewThrottledGroup makes a group that may read from the disk of a file so many times a second.
func NewThrottledGroup(string, int) (*Group, error) { return nil, errors.ErrUnsupported }

// Put has the work done in the group.
func (g *Group) Put(*Work) {}

// Empty has the kernel evict what the group has in memory.
func (g *Group) Empty() error { return nil }

// Remove removes the group.
func (g *Group) Remove() error { return nil }

// ReadAhead returns what the kernel reads ahead on the disk of a file, "" if that is not known.
func ReadAhead(string) string { return "" }

// Loop is a file system on a loop device.
type Loop struct{ Dir string }

// NewLoop makes a file system of size bytes below dir.
func NewLoop(string, int64) (*Loop, error) { return nil, errors.ErrUnsupported }

// Remove unmounts the file system and removes its image.
func (l *Loop) Remove() error { return nil }

// NewTmpfs makes a directory in /dev/shm.
func NewTmpfs() (string, error) { return "", errors.ErrUnsupported }
