package cold

import (
	"math/rand/v2"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

const block = 4 << 10

// A pass reads a file somehow, in calls of a block.
type pass func(w *Work, r reader) error

// readAnywhere reads blocks at random, each at a multiple of its size.
func readAnywhere(w *Work, r reader) error {
	source, p := rand.New(rand.NewPCG(1, 2)), make([]byte, block)
	for range w.Reads {
		if _, err := r.ReadAt(p, source.Int64N(r.size()/block)*block); err != nil {
			return err
		}
	}
	return nil
}

// readInOrder reads all blocks from the first to the last.
func readInOrder(_ *Work, r reader) error {
	p := make([]byte, block)
	for off := int64(0); off+block <= r.size(); off += block {
		if _, err := r.ReadAt(p, off); err != nil {
			return err
		}
	}
	return nil
}

// dropped measures a pass over a file that was dropped from the page cache before it was opened.
func dropped(w *Work, r reader, read pass) ([]Figure, error) {
	if err := pagecache.Drop(w.File); err != nil {
		return nil, err
	}
	return timedPass(w, r, read)
}

// evicted measures a pass over a file that was read again and again and is evicted then: by the
// kernel, since no process can drop pages that are mapped.
func evicted(w *Work, r reader, read pass) ([]Figure, error) {
	if err := pagecache.Drop(w.File); err != nil { // so that its pages are those of this group
		return nil, err
	}
	if err := readInOrder(w, r); err != nil {
		return nil, err
	}
	hot := *w
	hot.Reads = 4 * int(r.size()/block)
	if err := readAnywhere(&hot, r); err != nil {
		return nil, err
	}
	if err := w.evict(); err != nil {
		return nil, err
	}
	time.Sleep(150 * time.Millisecond) // a service that has evicted pages was idle
	return timedPass(w, r, read)
}

func timedPass(w *Work, r reader, read pass) ([]Figure, error) {
	faults, began := majorFaults(), time.Now()
	err := read(w, r)
	return []Figure{{NS: float64(time.Since(began).Nanoseconds()), Faults: majorFaults() - faults}}, err
}
