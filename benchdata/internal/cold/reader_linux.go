package cold

import (
	"errors"
	"fmt"
	"io"
	"os"

	"go.dw1.io/mmapfile"
	"golang.org/x/sys/unix"
)

// Missing says why nothing can be measured here, if nothing can.
const Missing = ""

type reader interface {
	io.ReaderAt
	io.Closer
	size() int64
	file() file // nil for a mapping
}

func open(impl, path string) (reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch impl {
	case OS:
		f, err := os.Open(path)
		return osReader{f, size}, err
	case Mmapfile:
		f, err := mmapfile.Open(path)
		return mmapReader{f, size}, err
	case Mapping:
		return mapWhole(path, size)
	}
	return nil, fmt.Errorf("no implementation %q", impl)
}

type osReader struct {
	*os.File
	n int64
}

func (r osReader) size() int64 { return r.n }
func (r osReader) file() file  { return r.File }

type mmapReader struct {
	*mmapfile.File
	n int64
}

func (r mmapReader) size() int64 { return r.n }
func (r mmapReader) file() file  { return r.File }

// mapping copies from mapped memory, and has no advice for the kernel.
type mapping []byte

func mapWhole(path string, size int64) (reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return mapping(p), errors.Join(err, f.Close())
}

func (m mapping) size() int64  { return int64(len(m)) }
func (m mapping) file() file   { return nil }
func (m mapping) Close() error { return unix.Munmap(m) }

func (m mapping) ReadAt(p []byte, off int64) (int, error) { return copy(p, m[off:]), nil }

// majorFaults returns how many faults of this process have waited for the disk.
func majorFaults() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Majflt)
}

// adviseFile tells the kernel that a range of a file will be read.
func adviseFile(r reader, off, n int64) error {
	f, ok := r.file().(*os.File)
	if !ok {
		return errors.ErrUnsupported
	}
	return os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), off, n, unix.FADV_WILLNEED))
}
