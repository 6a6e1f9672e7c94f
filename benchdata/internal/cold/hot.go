package cold

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// hotAnywhere measures reads of w.Piece bytes anywhere in a file in memory.
func hotAnywhere(w *Work, r reader) ([]Figure, error) {
	if err := readInOrder(w, r); err != nil {
		return nil, err
	}
	p, source := make([]byte, w.Piece), benchtest.Random(1)
	return repeated(w, func() error {
		_, err := r.ReadAt(p, source.Below(int(r.size())-len(p)+1))
		return err
	})
}

// hotOrder measures reads of a block in order in a file in memory, from the start again at its end.
func hotOrder(w *Work, r reader) ([]Figure, error) {
	f, p := r.file(), make([]byte, block)
	return repeated(w, func() error {
		_, err := f.Read(p)
		if err == io.EOF {
			_, err = f.Seek(0, io.SeekStart)
		}
		return err
	})
}

// life measures a file that is opened, read w.Reads times and closed.
func life(w *Work) ([]Figure, error) {
	info, err := os.Stat(w.File)
	if err != nil {
		return nil, err
	}
	p, source := make([]byte, 64), benchtest.Random(1)
	return repeated(w, func() error {
		f, err := openFile(w.Impl, w.File, os.O_RDONLY)
		if err != nil {
			return err
		}
		for range w.Reads {
			if _, err := f.ReadAt(p, source.Below(int(info.Size())-len(p)+1)); err != nil {
				return errors.Join(err, f.Close())
			}
		}
		return f.Close()
	})
}

// writeAnywhere measures w.Reads writes of 64 B anywhere in 64 MiB. The file is written in pieces before,
// which decides how large the folios of the page cache are.
func writeAnywhere(w *Work) (figures []Figure, err error) {
	const size = 64 << 20
	if err := writePieces(w.File, size, w.Piece); err != nil {
		return nil, errors.Join(err, os.Remove(w.File))
	}
	defer func() { err = errors.Join(err, os.Remove(w.File)) }()
	f, err := openFile(w.Impl, w.File, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	p, source := make([]byte, 64), benchtest.Random(1)
	began := time.Now()
	for range w.Reads {
		if _, err := f.WriteAt(p, source.Below(size-len(p)+1)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	elapsed := time.Since(began)
	return []Figure{{NS: float64(elapsed.Nanoseconds()) / float64(w.Reads)}}, f.Close()
}

// writePieces makes a file by writes of so many bytes, and waits until it is on the disk.
func writePieces(path string, size, piece int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	source, p := rand.NewChaCha8([32]byte{}), make([]byte, piece)
	source.Read(p)
	for n := 0; n < size && err == nil; n += piece {
		_, err = f.Write(p)
	}
	return errors.Join(err, f.Sync(), f.Close())
}
