package cold

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// life measures a file in memory that is opened, read and closed.
func life(read pass) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		return w.repeated(func() error {
			f, err := w.open(w.Impl)
			if err != nil {
				return err
			}
			return errors.Join(read(w, f), f.Close())
		})
	}
}

// places go on from one life to the next.
var places = benchtest.Random(1)

// readAnywhere reads 64 B n times.
func readAnywhere(n int) pass {
	return func(w *Work, f file) (err error) {
		p := make([]byte, 64)
		for i := 0; i < n && err == nil; i++ {
			_, err = f.ReadAt(p, places.Below(int(w.Size)-len(p)+1))
		}
		return err
	}
}

// readLaps reads 64 B in each 64 KiB, six times.
func readLaps(w *Work, f file) (err error) {
	p := make([]byte, 64)
	for range 6 {
		for off := int64(0); off < w.Size && err == nil; off += 64 << 10 {
			_, err = f.ReadAt(p, off)
		}
	}
	return err
}

// hotAnywhere measures reads of n bytes anywhere in a file in memory.
func hotAnywhere(n int) func(w *Work) ([]Figure, error) {
	return func(w *Work) ([]Figure, error) {
		return w.opened(func(f file) ([]Figure, error) {
			if err := inOrder(w, f); err != nil {
				return nil, err
			}
			p := make([]byte, n)
			return w.repeated(func() error {
				_, err := f.ReadAt(p, places.Below(int(w.Size)-len(p)+1))
				return err
			})
		})
	}
}

// hotOrder measures reads of a block in order in a file in memory, from the start again at its end.
func hotOrder(w *Work) ([]Figure, error) {
	return w.opened(func(f file) ([]Figure, error) {
		p := make([]byte, block)
		return w.repeated(func() error {
			_, err := f.Read(p)
			if err == io.EOF {
				_, err = f.Seek(0, io.SeekStart)
			}
			return err
		})
	})
}

// WriteFile makes a file of noise by writes of so many bytes, and waits until it is on the disk. They decide
// how large the folios of the page cache are.
func WriteFile(ctx context.Context, path string, size, piece int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	source, p := rand.NewChaCha8([32]byte{}), make([]byte, min(piece, size))
	for n := int64(0); n < size && err == nil; n += piece {
		source.Read(p)
		_, err = f.Write(p)
		err = errors.Join(err, ctx.Err())
	}
	return errors.Join(err, f.Sync(), f.Close())
}
