package cold

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

// uniform measures reads of a block anywhere in a file that is a little larger than the memory of the group.
func uniform(w *Work, r reader) ([]Figure, error) {
	return w.readLong(r, func(source *rand.Rand) int64 { return source.Int64N(r.size()/block) * block })
}

// moving measures reads of a block in a part of the file that is another one eight times.
func moving(w *Work, r reader) ([]Figure, error) {
	const moves = 8
	part, began := min(32<<20, r.size()), time.Now()
	var start atomic.Int64
	return w.readLong(r, func(source *rand.Rand) int64 {
		if source.Int64N(16) == 0 {
			move := int64(time.Since(began) / (w.For / moves))
			start.Store(move * part % (r.size() - r.size()%part))
		}
		return start.Load() + source.Int64N(part/block)*block
	})
}

// readLong reads blocks at next, and returns the time of one, with the goroutines side by side.
func (w *Work) readLong(r reader, next func(source *rand.Rand) int64) ([]Figure, error) {
	if err := w.fillInOrder(); err != nil {
		return nil, err
	}
	if _, err := w.readFor(r, w.For/2, block, func(source *rand.Rand) func() int64 {
		return func() int64 { return next(source) }
	}); err != nil {
		return nil, err
	}
	faults, began := majorFaults(), time.Now()
	times, err := w.readFor(r, w.For, block, func(source *rand.Rand) func() int64 {
		return func() int64 { return next(source) }
	})
	if err != nil {
		return nil, err
	}
	reads := float64(times.count)
	return []Figure{{NS: float64(time.Since(began).Nanoseconds()) / reads, Faults: (majorFaults() - faults) / reads}}, nil
}

// fillInOrder reads the file by system call, so that its end is in memory.
func (w *Work) fillInOrder() error {
	f, err := os.Open(w.File)
	if err != nil {
		return err
	}
	return errors.Join(readBlocks(1<<20)(f), f.Close())
}

// evictedBack measures how long it takes after an eviction until reads are as fast again as those of
// os.File in memory.
func evictedBack(w *Work, r reader) ([]Figure, error) {
	if err := pagecache.Drop(w.File); err != nil { // so that its pages are those of this group
		return nil, err
	}
	f, err := open(OS, w.File)
	if err != nil {
		return nil, err
	}
	if err := readInOrder(w, f); err != nil {
		return nil, err
	}
	p, source := make([]byte, block), benchtest.Random(1)
	window := func(r reader) (time.Duration, error) {
		began := time.Now()
		for range 256 {
			if _, err := r.ReadAt(p, source.Below(int(r.size()/block))*block); err != nil {
				return 0, err
			}
		}
		return time.Since(began), nil
	}
	var hot histogram
	for range 200 {
		d, err := window(f)
		if err != nil {
			return nil, err
		}
		hot.add(d)
	}
	for range 200 { // more than enough for all of it to be mapped
		if _, err := window(r); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(f.Close(), w.evict()); err != nil {
		return nil, err
	}
	goal, began := hot.percentile(50)*3/2, time.Now()
	for time.Since(began) < 20*time.Second {
		d, err := window(r)
		if err != nil {
			return nil, err
		}
		if d <= goal {
			return []Figure{{NS: float64(time.Since(began).Nanoseconds())}}, nil
		}
	}
	return nil, fmt.Errorf("reads of %d blocks do not take %v again", 256, goal)
}

// evict has the kernel evict the pages of the file.
func (w *Work) evict() error {
	var share float64
	for range 20 { // it evicts what was used lately at the second or third time
		err := os.WriteFile(w.Reclaim, []byte(w.Amount), 0)
		var residentErr error
		if share, residentErr = pagecache.Resident(w.File); residentErr != nil {
			return residentErr
		}
		if share < 0.01 {
			return nil
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return fmt.Errorf("%.0f%% of the file are still in memory", 100*share)
}
