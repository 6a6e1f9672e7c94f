//go:build unix

package needle

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func init() {
	withMapping, missingMmap = withMmap, ""
	if runtime.GOOS == "linux" {
		populate, missingPopulate = 0x8000, "" // MAP_POPULATE, which no other system defines
	}
}

// withMmap is withMapping. Nothing protects it against a file that is truncated
// meanwhile: it is the measurement's own.
func withMmap(path string, flags int, use func(p []byte) (int64, error)) (off int64, err error) {
	p, err := mapFile(path, flags&^advise)
	if err != nil || p == nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(p)) }()
	if flags&advise != 0 {
		for _, advice := range []int{unix.MADV_SEQUENTIAL, unix.MADV_WILLNEED} {
			if err := unix.Madvise(p, advice); err != nil {
				return -1, os.NewSyscallError("madvise", err)
			}
		}
	}
	return use(p)
}

// mapFile maps the whole file, nil if it is empty.
func mapFile(path string, flags int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return nil, err
	}
	if int64(int(fi.Size())) != fi.Size() {
		return nil, errors.New("the file is larger than the address space")
	}
	p, err := unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_SHARED|flags)
	return p, os.NewSyscallError("mmap", err)
}
