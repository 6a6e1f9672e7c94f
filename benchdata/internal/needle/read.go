package needle

import (
	"bufio"
	"io"
	"os"
)

// chunk is what is read at once: it fits into the cache of one core, and is large enough for the
// system call not to count.
const chunk = 256 << 10

func readFileBytes(path string, _ int) (int64, error) {
	p, err := os.ReadFile(path)
	return int64(indexBytes(p)), err
}

func bufioBytes(path string, _ int) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for off := int64(0); ; off++ {
		switch b, err := r.ReadByte(); {
		case err == io.EOF:
			return -1, nil
		case err != nil:
			return -1, err
		case b != 0:
			return off, nil
		}
	}
}

// inChunks reads one chunk after the other.
func inChunks(find index) Search {
	return func(path string, _ int) (int64, error) {
		f, err := os.Open(path)
		if err != nil {
			return -1, err
		}
		defer f.Close()
		p := make([]byte, chunk)
		for off := int64(0); ; {
			n, err := f.Read(p)
			if i := find(p[:n]); i >= 0 {
				return off + int64(i), nil
			}
			off += int64(n)
			if err == io.EOF {
				return -1, nil
			}
			if err != nil {
				return -1, err
			}
		}
	}
}

// preadParallel has the workers read chunks, each into a buffer of its own.
func preadParallel(find index) Search {
	return func(path string, workers int) (int64, error) {
		f, err := os.Open(path)
		if err != nil {
			return -1, err
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			return -1, err
		}
		return inParallel(fi.Size(), chunk, workers, func() searchRange {
			p := make([]byte, chunk)
			return func(off, n int64) (int64, error) {
				got, err := f.ReadAt(p[:n], off)
				if err == io.EOF {
					err = nil
				}
				return int64(find(p[:got])), err
			}
		})
	}
}
