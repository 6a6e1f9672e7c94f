package cold

import (
	"errors"
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

// ticker measures how late a ticker is beside goroutines that read blocks at random from a file that is not
// in memory, except for a part that they have read often: the median, the 99th percentile and the maximum.
// The goroutines go on until the process ends.
func ticker(read func(f file, p []byte, off int64) (int, error)) func(w *Work) ([]Figure, error) {
	const (
		tick       = 5 * time.Millisecond
		hotPart    = 4 << 20
		goroutines = 16
	)
	return func(w *Work) ([]Figure, error) {
		if err := pagecache.Drop(w.Path); err != nil {
			return nil, err
		}
		return w.opened(func(f file) ([]Figure, error) {
			p := make([]byte, block)
			for range 4 {
				for off := int64(0); off < min(hotPart, w.Size-block); off += block {
					if _, err := read(f, p, off); err != nil {
						return nil, err
					}
				}
			}
			failed := make(chan error, goroutines)
			for n := range goroutines {
				go func() {
					source, p := rand.New(rand.NewPCG(3, uint64(n))), make([]byte, block)
					for {
						if _, err := read(f, p, source.Int64N(w.Size/block)*block); err != nil {
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
			return []Figure{
				{"p50", float64(late.percentile(50).Nanoseconds())},
				{"p99", float64(min(late.percentile(99), worst).Nanoseconds())},
				{"max", float64(worst.Nanoseconds())},
			}, nil
		})
	}
}

// readView copies a block from a view.
func readView(f file, p []byte, off int64) (n int, err error) {
	m, ok := f.(*mmapfile.File)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	err = m.View(off, int64(len(p)), func(view []byte) error {
		n = copy(p, view)
		return nil
	})
	return n, err
}

// populateRead has a block read, and copies nothing.
func populateRead(f file, p []byte, off int64) (int, error) {
	m, ok := f.(*mmapfile.File)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return len(p), m.Advise(off, int64(len(p)), mmapfile.PopulateRead)
}
