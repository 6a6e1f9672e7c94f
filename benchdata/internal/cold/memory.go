package cold

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

const (
	record = 1 << 10
	// The skew of Zipf's distribution: about 90% of the reads go to 5% of two million records.
	skew = 1.1
	// scatter is a prime: rank*scatter modulo the number of records puts hot records anywhere.
	scatter = 2_654_435_761
)

// place returns the offset of the record with a rank in popularity, in a file of size bytes.
func place(rank uint64, size int64) int64 {
	records := uint64(size) / record
	return int64(rank%records*(scatter%records)%records) * record
}

// zipf measures reads of 1 KiB by Zipf's distribution, of a file that may be larger than the memory of
// the group: the time of one, with the goroutines side by side, and the 99th percentile.
func zipf(goroutines int) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		if err := w.fillHot(); err != nil {
			return nil, err
		}
		each, p99, err := w.readLong(goroutines, record, func(source *rand.Rand) func() int64 {
			zipf := rand.NewZipf(source, skew, 1, uint64(w.Size/record)-1)
			return func() int64 { return place(zipf.Uint64(), w.Size) }
		})
		if figures := []Figure{{"read", each}, {"p99", p99}}; err == nil {
			return figures[:len(w.Figures)], nil
		}
		return nil, err
	}
}

// uniform measures reads of a block anywhere in a file that is a little larger than the memory of the group, after
// the file was read by system call, so that its end is in memory.
func uniform(goroutines int) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		f, err := os.Open(w.Path)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(readBlocks(1<<20)(w, f), f.Close()); err != nil {
			return nil, err
		}
		each, _, err := w.readLong(goroutines, block, func(source *rand.Rand) func() int64 {
			return func() int64 { return source.Int64N(w.Size/block) * block }
		})
		return one(each), err
	}
}

// readLong reads n bytes at a time, in goroutines that each have a function of their own for the offsets. It
// returns the time of a read, with the goroutines side by side, and the 99th percentile.
func (w *Work) readLong(goroutines, n int, offsets func(source *rand.Rand) func() int64) (each, p99 float64, err error) {
	_, err = w.opened(func(f file) ([]Figure, error) {
		if _, err := readFor(f, w.For/2, goroutines, n, offsets); err != nil {
			return nil, err
		}
		began := time.Now()
		times, err := readFor(f, w.For, goroutines, n, offsets)
		each = float64(time.Since(began).Nanoseconds()) / float64(max(times.count, 1))
		p99 = float64(times.percentile(99).Nanoseconds())
		return nil, err
	})
	return each, p99, err
}

// readFor reads for some time, and returns how long each read took.
func readFor(f file, atLeast time.Duration, goroutines, n int, offsets func(source *rand.Rand) func() int64) (all histogram, err error) {
	var mu sync.Mutex
	end := time.Now().Add(atLeast)
	err = benchtest.Together(goroutines, func(id int) (err error) {
		next := offsets(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(id))))
		var own histogram
		p := make([]byte, n)
		for began := time.Now(); err == nil; { // once at least, also if the goroutine began late
			_, err = f.ReadAt(p, next())
			now := time.Now()
			own.add(now.Sub(began))
			if began = now; !now.Before(end) {
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(&own)
		return err
	})
	return all, err
}

// fillHot brings the records that are read most into memory, as a service has them that has run for
// long, by system call: the hottest last.
func (w *Work) fillHot() error {
	f, err := os.Open(w.Path)
	if err != nil {
		return err
	}
	if w.Size <= w.Memory*9/10 { // all of it
		return errors.Join(readBlocks(1<<20)(w, f), f.Close())
	}
	const readers = 16
	pages := min(w.Memory*8/10, w.Size) / block
	err = benchtest.Together(readers, func(id int) (err error) {
		p := make([]byte, record)
		for rank := pages - 1 - int64(id); rank >= 0 && err == nil; rank -= readers {
			_, err = f.ReadAt(p, place(uint64(rank), w.Size))
		}
		return err
	})
	return errors.Join(err, f.Close())
}

// evictedBack measures how long it takes after an eviction until reads are as fast again as those of
// os.File in memory.
func evictedBack(w *Work) ([]Figure, error) {
	if err := pagecache.Drop(w.Path); err != nil { // so that its pages are those of this group
		return nil, err
	}
	base, err := w.open(OS)
	if err != nil {
		return nil, err
	}
	return w.opened(func(f file) ([]Figure, error) {
		p, source := make([]byte, block), benchtest.Random(1)
		window := func(r io.ReaderAt) (took time.Duration, err error) {
			began := time.Now()
			for i := 0; i < 256 && err == nil; i++ {
				_, err = r.ReadAt(p, source.Below(int(w.Size/block))*block)
			}
			return time.Since(began), err
		}
		if err := inOrder(w, base); err != nil {
			return nil, err
		}
		var hot histogram
		for _, r := range []file{base, f} { // 200 are more than enough for all of it to be mapped
			for range 200 {
				took, err := window(r)
				if err != nil {
					return nil, err
				}
				if r == base {
					hot.add(took)
				}
			}
		}
		if err := errors.Join(base.Close(), w.evict()); err != nil {
			return nil, err
		}
		goal, began := hot.percentile(50)*3/2, time.Now()
		for time.Since(began) < 20*time.Second {
			took, err := window(f)
			if err != nil {
				return nil, err
			}
			if took <= goal {
				return one(float64(time.Since(began).Nanoseconds())), nil
			}
		}
		return nil, fmt.Errorf("reads of 256 blocks do not take %v again", goal)
	})
}

// histogram counts times by their logarithm, in steps of 2%.
type histogram struct {
	count   int64
	buckets [1500]int64
}

const stepsPerOctave = 35

func (h *histogram) add(d time.Duration) {
	i := int(math.Log2(float64(max(d, 1))) * stepsPerOctave)
	h.buckets[min(i, len(h.buckets)-1)]++
	h.count++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
}

// percentile returns the time that percent of the times are not above.
func (h *histogram) percentile(percent float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	left := int64(math.Ceil(float64(h.count) * percent / 100))
	for i, n := range h.buckets {
		if left -= n; left <= 0 {
			return time.Duration(math.Exp2((float64(i) + 0.5) / stepsPerOctave))
		}
	}
	return 0
}
