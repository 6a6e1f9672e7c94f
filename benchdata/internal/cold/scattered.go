package cold

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.dw1.io/mmapfile"
)

// blocksAnywhere are offsets of different blocks.
func blocksAnywhere(n int, size int64) []int64 {
	source, offsets, seen := rand.New(rand.NewPCG(5, 6)), []int64(nil), map[int64]bool{}
	for len(offsets) < min(n, int(size/block)) {
		if off := source.Int64N(size/block) * block; !seen[off] {
			seen[off] = true
			offsets = append(offsets, off)
		}
	}
	return offsets
}

// readScattered reads blocks anywhere, with goroutines that share them.
func readScattered(w *Work, r reader) error {
	offsets := blocksAnywhere(w.Reads, r.size())
	failed := make([]error, w.Goroutines)
	var running sync.WaitGroup
	for n := range w.Goroutines {
		running.Go(func() {
			p := make([]byte, block)
			for i := n; i < len(offsets) && failed[n] == nil; i += w.Goroutines {
				_, failed[n] = r.ReadAt(p, offsets[i])
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// readAdvised advises the system of all blocks, and then reads them one by one.
func readAdvised(w *Work, r reader) error {
	offsets := blocksAnywhere(w.Reads, r.size())
	for _, off := range offsets {
		if err := willNeed(r, off, block); err != nil {
			return err
		}
	}
	p := make([]byte, block)
	for _, off := range offsets {
		if _, err := r.ReadAt(p, off); err != nil {
			return err
		}
	}
	return nil
}

func willNeed(r reader, off, n int64) error {
	if f, ok := r.file().(*mmapfile.File); ok {
		return f.Advise(off, n, mmapfile.WillNeed)
	}
	return adviseFile(r, off, n)
}

// adviseInMemory measures advice for blocks that are in memory, and were read.
func adviseInMemory(w *Work, r reader) ([]Figure, error) {
	for range 2 {
		if err := readInOrder(w, r); err != nil {
			return nil, err
		}
	}
	off := int64(0)
	return repeated(w, func() error {
		off = (off + 7*block) % (r.size() / block * block)
		return willNeed(r, off, block)
	})
}

// repeated measures a short call: the time of one, again and again for some time.
func repeated(w *Work, call func() error) ([]Figure, error) {
	const batch = 64
	for end := time.Now().Add(w.For / 2); time.Now().Before(end); { // what there is to learn is learned here
		for range batch {
			if err := call(); err != nil {
				return nil, err
			}
		}
	}
	n, began := 0, time.Now()
	for time.Since(began) < w.For {
		for range batch {
			if err := call(); err != nil {
				return nil, err
			}
		}
		n += batch
	}
	return []Figure{{NS: float64(time.Since(began).Nanoseconds()) / float64(n)}}, nil
}
