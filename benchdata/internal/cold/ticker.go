package cold

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

const (
	tick    = 5 * time.Millisecond
	hotPart = 4 << 20
)

// ticker measures how late a ticker is beside goroutines that read blocks at random from a file
// that is not in memory, except for a part that they have read often: the median, the 99th percentile and the maximum. The goroutines go on
// until the process ends.
func ticker(w *Work, read func(p []byte, off int64) (int, error)) ([]Figure, error) {
	r, err := open(OS, w.File)
	if err != nil {
		return nil, err
	}
	size := r.size()
	if err := errors.Join(r.Close(), pagecache.Drop(w.File)); err != nil {
		return nil, err
	}
	p := make([]byte, block)
	for range 4 {
		for off := int64(0); off < min(hotPart, size-block); off += block {
			if _, err := read(p, off); err != nil {
				return nil, err
			}
		}
	}
	failed := make(chan error, w.Goroutines)
	faults := majorFaults()
	for n := range w.Goroutines {
		go func() {
			source, p := rand.New(rand.NewPCG(3, uint64(n))), make([]byte, block)
			for {
				if _, err := read(p, source.Int64N(size/block)*block); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	time.Sleep(tick * 20) // for all of them to wait for the disk
	var late histogram
	var worst time.Duration
	began := time.Now()
	for next := began.Add(tick); next.Sub(began) < w.For; next = next.Add(tick) {
		time.Sleep(time.Until(next))
		by := time.Since(next)
		late.add(by)
		worst = max(worst, by)
		select {
		case err := <-failed:
			return nil, err
		default:
		}
	}
	faults = majorFaults() - faults
	return []Figure{
		{"p50", float64(late.percentile(50).Nanoseconds()), faults},
		{"p99", float64(min(late.percentile(99), worst).Nanoseconds()), faults},
		{"max", float64(worst.Nanoseconds()), faults},
	}, nil
}

// viewer is what only a file of mmapfile has.
type viewer interface {
	View(off, n int64, fn func(p []byte) error) error
	Advise(off, n int64, a mmapfile.Advice) error
}

func viewerOf(r reader) (viewer, error) {
	v, ok := r.(viewer)
	if !ok {
		return nil, fmt.Errorf("%T has no View", r)
	}
	return v, nil
}

func tickerView(w *Work, r reader) ([]Figure, error) {
	f, err := viewerOf(r)
	if err != nil {
		return nil, err
	}
	return ticker(w, func(p []byte, off int64) (n int, err error) {
		err = f.View(off, int64(len(p)), func(view []byte) error {
			n = copy(p, view)
			return nil
		})
		return n, err
	})
}

func tickerPopulate(w *Work, r reader) ([]Figure, error) {
	f, err := viewerOf(r)
	if err != nil {
		return nil, err
	}
	return ticker(w, func(p []byte, off int64) (int, error) {
		return len(p), f.Advise(off, int64(len(p)), mmapfile.PopulateRead)
	})
}
