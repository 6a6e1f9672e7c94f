package needle

import (
	"errors"
	"sync"
	"sync/atomic"
)

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
