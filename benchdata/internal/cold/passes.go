package cold

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/scan"
)

const block = 4 << 10

// A pass reads the file of the work somehow.
type pass func(w *Work, f file) error

// dropped measures a pass over a file that was dropped from the page cache.
func dropped(read pass) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		if err := pagecache.Drop(w.Path); err != nil {
			return nil, err
		}
		return w.opened(func(f file) ([]Figure, error) { return timed(func() error { return read(w, f) }) })
	}
}

// evicted measures a pass over a file that was read again and again and is evicted then: by the
// kernel, since no process can drop pages that are mapped.
func evicted(read pass) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		if err := pagecache.Drop(w.Path); err != nil { // so that its pages are those of this group
			return nil, err
		}
		return w.opened(func(f file) ([]Figure, error) {
			if err := errors.Join(inOrder(w, f), anywhere(4*int(w.Size/block))(w, f), w.evict()); err != nil {
				return nil, err
			}
			time.Sleep(150 * time.Millisecond) // a service that has evicted pages was idle
			return timed(func() error { return read(w, f) })
		})
	}
}

// evict has the kernel evict the pages of the file.
func (w *Work) evict() error {
	var share float64
	for range 20 { // it evicts what was used lately at the second or third time
		err := os.WriteFile(w.Reclaim, []byte(w.Amount), 0)
		var residentErr error
		if share, residentErr = pagecache.Resident(w.Path); residentErr != nil {
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

// anywhere reads n blocks at random, each at a multiple of its size.
func anywhere(n int) pass {
	return func(w *Work, f file) (err error) {
		source, p := rand.New(rand.NewPCG(1, 2)), make([]byte, block)
		for i := 0; i < n && err == nil; i++ {
			_, err = f.ReadAt(p, source.Int64N(w.Size/block)*block)
		}
		return err
	}
}

// inOrder reads all blocks from the first to the last.
func inOrder(w *Work, f file) (err error) {
	p := make([]byte, block)
	for off := int64(0); off+block <= w.Size && err == nil; off += block {
		_, err = f.ReadAt(p, off)
	}
	return err
}

// readBlocks reads to the end in calls of n bytes.
func readBlocks(n int) pass {
	return func(_ *Work, f file) error {
		p := make([]byte, n)
		for {
			_, err := f.Read(p)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

func scanLines(_ *Work, f file) error {
	s := bufio.NewScanner(f)
	for s.Scan() {
	}
	return s.Err()
}

// plainWriter has no method but Write.
type plainWriter struct{ n int64 }

func (w *plainWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

func copyToWriter(_ *Work, f file) error {
	_, err := io.Copy(new(plainWriter), f)
	return err
}

// countLines is package scan, or goroutines that each read pieces and count in them.
func countLines(_ *Work, f file) error {
	if f, ok := f.(*mmapfile.File); ok {
		_, err := scan.Count(context.Background(), f, []byte("\n"))
		return err
	}
	const piece = 1 << 20
	var next, lines atomic.Int64
	return benchtest.Together(4, func(int) error {
		p := make([]byte, piece)
		for {
			n, err := f.ReadAt(p, next.Add(piece)-piece)
			lines.Add(int64(bytes.Count(p[:n], []byte("\n"))))
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// blocksAnywhere are offsets of 256 different blocks, or of all.
func blocksAnywhere(size int64) []int64 {
	source, offsets, seen := rand.New(rand.NewPCG(5, 6)), []int64(nil), map[int64]bool{}
	for len(offsets) < min(256, int(size/block)) {
		if off := source.Int64N(size/block) * block; !seen[off] {
			seen[off] = true
			offsets = append(offsets, off)
		}
	}
	return offsets
}

// scattered reads blocks anywhere, with goroutines that share them.
func scattered(goroutines int) pass {
	return func(w *Work, f file) error {
		offsets := blocksAnywhere(w.Size)
		return benchtest.Together(goroutines, func(id int) (err error) {
			p := make([]byte, block)
			for i := id; i < len(offsets) && err == nil; i += goroutines {
				_, err = f.ReadAt(p, offsets[i])
			}
			return err
		})
	}
}

// readAdvised advises the system of all blocks, and then reads them one by one.
func readAdvised(w *Work, f file) error {
	for _, off := range blocksAnywhere(w.Size) {
		if err := willNeed(f, off, block); err != nil {
			return err
		}
	}
	return scattered(1)(w, f)
}

func willNeed(f file, off, n int64) error {
	switch f := f.(type) {
	case *mmapfile.File:
		return f.Advise(off, n, mmapfile.WillNeed)
	case *os.File:
		return adviseFile(f, off, n)
	}
	return errors.ErrUnsupported
}

// adviseInMemory measures advice for blocks that are in memory, and were read.
func adviseInMemory(w *Work) ([]Figure, error) {
	return w.opened(func(f file) ([]Figure, error) {
		if err := errors.Join(inOrder(w, f), inOrder(w, f)); err != nil {
			return nil, err
		}
		off := int64(0)
		return w.repeated(func() error {
			off = (off + 7*block) % (w.Size / block * block)
			return willNeed(f, off, block)
		})
	})
}
