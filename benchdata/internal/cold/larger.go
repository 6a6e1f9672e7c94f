package cold

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"
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

// larger measures reads of 1 KiB by Zipf's distribution, of a file that may be larger than the
// memory of the group: the time of one, with the goroutines side by side, and the 99th percentile.
func larger(w *Work, r reader) ([]Figure, error) {
	if err := w.fill(r.size()); err != nil {
		return nil, err
	}
	places := func(source *rand.Rand) func() int64 {
		zipf := rand.NewZipf(source, skew, 1, uint64(r.size()/record)-1)
		return func() int64 { return place(zipf.Uint64(), r.size()) }
	}
	if _, err := w.readFor(r, w.For/2, record, places); err != nil {
		return nil, err
	}
	faults, began := majorFaults(), time.Now()
	times, err := w.readFor(r, w.For, record, places)
	elapsed := time.Since(began)
	if err != nil {
		return nil, err
	}
	perRead := (majorFaults() - faults) / float64(times.count)
	return []Figure{
		{"read", float64(elapsed.Nanoseconds() / times.count), perRead},
		{"p99", float64(times.percentile(99).Nanoseconds()), perRead},
	}, nil
}

// readFor reads n bytes at a time, for some time, and returns how long each read took. Each goroutine has a
// function of its own for the offsets.
func (w *Work) readFor(r reader, atLeast time.Duration, n int, places func(source *rand.Rand) func() int64) (histogram, error) {
	var all histogram
	var failed error
	var mu sync.Mutex
	var running sync.WaitGroup
	end := time.Now().Add(atLeast)
	for id := range w.Goroutines {
		running.Go(func() {
			next := places(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(id))))
			var own histogram
			var err error
			p := make([]byte, n)
			for began := time.Now(); began.Before(end) && err == nil; {
				_, err = r.ReadAt(p, next())
				now := time.Now()
				own.add(now.Sub(began))
				began = now
			}
			mu.Lock()
			defer mu.Unlock()
			all.merge(&own)
			failed = errors.Join(failed, err)
		})
	}
	running.Wait()
	return all, failed
}

// fill brings the records that are read most into memory, as a service has them that has run for
// long, by system call: the hottest last.
func (w *Work) fill(size int64) error {
	f, err := os.Open(w.File)
	if err != nil {
		return err
	}
	if size <= w.Memory*9/10 { // all of it
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		return errors.Join(err, f.Close())
	}
	pages := min(w.Memory*8/10, size) / block
	const readers = 16
	failed := make([]error, readers)
	var running sync.WaitGroup
	for n := range readers {
		running.Go(func() {
			p := make([]byte, record)
			for rank := pages - 1 - int64(n); rank >= 0 && failed[n] == nil; rank -= readers {
				_, failed[n] = f.ReadAt(p, place(uint64(rank), size))
			}
		})
	}
	running.Wait()
	return errors.Join(append(failed, f.Close())...)
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
