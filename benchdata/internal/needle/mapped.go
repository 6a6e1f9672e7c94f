package needle

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// mapped maps the file and searches it in one go.
func mapped(find index, flags int) Search {
	return func(path string, _ int) (int64, error) {
		return withMapping(path, flags, func(p []byte) (int64, error) { return int64(find(p)), nil })
	}
}

func mappedParallel(find index) Search {
	return func(path string, workers int) (int64, error) {
		return withMapping(path, 0, func(p []byte) (int64, error) { return bytesParallel(p, workers, find) })
	}
}

// withMapping calls use with the whole file; flags are those of mmap. Files for some systems set these.
var (
	withMapping     func(path string, flags int, use func(p []byte) (int64, error)) (int64, error)
	missingMmap     = "it needs mmap"
	populate        int
	missingPopulate = "it needs Linux"
)

// advise is beside the flags of mmap: above all that there are.
const advise = 1 << 30

// memory searches as much memory as the file has bytes, the needle at the end. It is what no search
// of a file with that loop can beat on this machine.
func memory(loop index) opener {
	return func(path string) (find func(workers int) (int64, error), release func() error, err error) {
		fi, err := os.Stat(path)
		if err != nil {
			return nil, nil, err
		}
		p := make([]byte, fi.Size())
		for i := 0; i < len(p); i += os.Getpagesize() {
			p[i] = 0 // without a store, all pages are the system's one page of zeros
		}
		copy(p[max(0, len(p)-WordSize):], word)
		find = func(workers int) (int64, error) { return bytesParallel(p, workers, loop) }
		return find, func() error { p = nil; return nil }, nil
	}
}

// library opens the file as a mmapfile.File.
func library(use func(f *mmapfile.File) (find func(workers int) (int64, error))) opener {
	return func(path string) (func(workers int) (int64, error), func() error, error) {
		f, err := mmapfile.Open(path)
		if err != nil {
			return nil, nil, err
		}
		return use(f), f.Close, nil
	}
}

// mappedFirst maps the file before the search.
func mappedFirst(use func(f *mmapfile.File) func(workers int) (int64, error)) func(f *mmapfile.File) func(workers int) (int64, error) {
	return func(f *mmapfile.File) func(workers int) (int64, error) {
		f.Bytes()
		return use(f)
	}
}

func scanIndexNot(f *mmapfile.File) func(workers int) (int64, error) {
	return func(workers int) (int64, error) {
		return scan.Scanner{Workers: workers}.IndexNot(context.Background(), f, 0)
	}
}

func scanCount(f *mmapfile.File) func(workers int) (int64, error) {
	return func(workers int) (int64, error) {
		return scan.Scanner{Workers: workers}.Count(context.Background(), f, newline)
	}
}

// opened is a search with opening and closing.
func opened(open opener) Search {
	return func(path string, workers int) (int64, error) {
		find, closeFile, err := open(path)
		if err != nil {
			return -1, err
		}
		n, err := find(workers)
		return n, errors.Join(err, closeFile())
	}
}

// piece is what a worker searches at once in memory: enough for taking it not to count, and little
// enough for the workers to end at the same time.
const piece = 1 << 20

// searchRange is the index, from off, of the first of n bytes that is not zero.
type searchRange func(off, n int64) (int64, error)

// inParallel has each worker take the next range of size bytes until something is found. The
// ranges are taken in order, so that no range before the first find is left out.
func inParallel(total, size int64, workers int, worker func() searchRange) (int64, error) {
	var (
		next  atomic.Int64
		found atomic.Int64
		wg    sync.WaitGroup
		errs  = make([]error, workers)
	)
	found.Store(total)
	for w := range workers {
		wg.Go(func() {
			find := worker()
			for {
				off := next.Add(size) - size
				if off >= found.Load() {
					return
				}
				i, err := find(off, min(size, total-off))
				if err != nil {
					errs[w] = err
					return
				}
				if i >= 0 {
					lower(&found, off+i)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return -1, err
	}
	if off := found.Load(); off < total {
		return off, nil
	}
	return -1, nil
}

// lower makes v no greater than x.
func lower(v *atomic.Int64, x int64) {
	for {
		old := v.Load()
		if x >= old || v.CompareAndSwap(old, x) {
			return
		}
	}
}

// bytesParallel searches what is in memory.
func bytesParallel(p []byte, workers int, find index) (int64, error) {
	return inParallel(int64(len(p)), piece, workers, func() searchRange {
		return func(off, n int64) (int64, error) {
			return int64(find(p[off : off+n])), nil
		}
	})
}
