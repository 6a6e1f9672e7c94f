package lab

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// writeFile is what the states ask for.
type writeFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

// ground is the file that a state's writes find.
type ground int

const (
	scanned   ground = iota // written, synced, and read through the File that will write
	fresh                   // empty
	sparse                  // of its full size, and one hole
	allocated               // of its full size, with blocks that nothing was written to
)

// writeState is a row of BenchmarkPolicy: writes in a certain state of the file. The figure is the
// time of all the writes and syncs in op.
type writeState struct {
	name        string
	size        int // of the file
	ground      ground
	first       bool // the file is opened anew each time, outside of the figure: no write came before
	writtenBack bool // another descriptor syncs the file all the time
	piece       int  // of the writes that make the file, if it is not filePiece: Linux has large folios for large ones
	bytes       int  // that op writes
	op          func(f writeFile, r *benchtest.Random) error
}

// BenchmarkPolicy shows the choice between a mapped write and a system call, state by state.
func BenchmarkPolicy(b *testing.B) {
	for _, s := range writeStates() {
		b.Run("state="+s.name, func(b *testing.B) {
			list := slices.Concat([]impl{osFile, mmapFile}, predecessor)
			if s.size < 500*benchtest.MB {
				list = append(list, osAgain)
			}
			each[writeFile](b, list, s.bench)
		})
	}
}

func (s writeState) bench(b *testing.B, im impl) {
	path := filepath.Join(benchtest.TempDir(b), "data")
	f, err := s.prepare(im, path)
	if err != nil {
		b.Fatal(err)
	}
	if s.writtenBack {
		defer writeBack(b, path)()
	}
	r := new(benchtest.Random)
	var w warmed
	if !s.first {
		w = warmUp(b, s.bytes, func() error { return s.op(f, r) })
	}
	b.SetBytes(int64(s.bytes))
	for first := true; b.Loop(); first = false {
		if s.first && !first {
			b.StopTimer()
			if f, err = s.again(im, path, f); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if err := s.op(f, r); err != nil {
			b.Fatal(err)
		}
	}
	if !s.first {
		w.report(b)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// again brings the file back to where it was before the first write.
func (s writeState) again(im impl, path string, f writeFile) (writeFile, error) {
	if s.ground == scanned {
		if err := f.Sync(); err != nil { // the pages are clean again
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return s.open(im, path)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return s.prepare(im, path)
}

// prepare makes the file and opens it.
func (s writeState) prepare(im impl, path string) (writeFile, error) {
	switch s.ground {
	case scanned:
		if err := writeBlocks(osFile, path, benchtest.Content(s.size), cmp.Or(s.piece, filePiece)); err != nil {
			return nil, err
		}
		if err := syncPath(path); err != nil {
			return nil, err
		}
	case sparse:
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return nil, err
		}
		if err := os.Truncate(path, int64(s.size)); err != nil {
			return nil, err
		}
	case allocated:
		f, err := mmapfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644, int64(s.size))
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return s.open(im, path)
}

func (s writeState) open(im impl, path string) (writeFile, error) {
	flag := os.O_RDWR
	if s.ground == fresh {
		flag |= os.O_CREATE
	}
	c, err := im.open(path, flag, int64(s.size))
	if err != nil {
		return nil, err
	}
	f := c.(writeFile)
	if s.ground == scanned {
		err = readAtThrough(f, benchtest.Buffer(64*benchtest.KB), s.size)
	}
	return f, err
}

func syncPath(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// writeBack has the file written back all the time, by a descriptor of its own, until the function
// that it returns is called.
func writeBack(b *testing.B, path string) (stop func()) {
	b.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	var ended atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !ended.Load() {
			if err := f.Sync(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	return func() {
		ended.Store(true)
		wg.Wait()
		f.Close()
	}
}
