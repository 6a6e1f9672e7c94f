package lab

import (
	"errors"
	"io"
	"os"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
)

// readState is what the pages of a file are in when it is read.
type readState string

const (
	hot   readState = "hot"   // in memory, and in the mapping where there is one
	first readState = "first" // in memory: the figure has the opening, and all page faults
	cold  readState = "cold"  // not in memory, in the cache of this system at least
)

// BenchmarkReadThrough reads a file of 64 MiB from one end to the other.
func BenchmarkReadThrough(b *testing.B) {
	eachState(b, func(b *testing.B, path string, state readState) {
		for _, block := range []int{4 * benchtest.KB, benchtest.MB} {
			b.Run("block="+benchtest.SizeName(block), func(b *testing.B) {
				measureState(b, path, state, stateFile, func(f io.ReaderAt, _ *benchtest.Random) error {
					return readAtThrough(f, benchtest.Buffer(block), stateFile)
				})
			})
		}
	})
}

// BenchmarkReadAnywhere reads 4 KiB at a thousand places of a file of 64 MiB.
func BenchmarkReadAnywhere(b *testing.B) {
	const reads = 1000
	eachState(b, func(b *testing.B, path string, state readState) {
		measureState(b, path, state, reads*readBlock, func(f io.ReaderAt, r *benchtest.Random) error {
			buf := benchtest.Buffer(readBlock)
			for range reads {
				if n, err := f.ReadAt(buf, r.Below(stateFile-readBlock+1)); n != readBlock {
					return benchtest.Whole(n, err, readBlock)
				}
			}
			return nil
		})
	})
}

// BenchmarkReadLong reads 32 KiB at many places of 8 MiB.
func BenchmarkReadLong(b *testing.B) {
	const reads, size, span = 20_000, 32 * benchtest.KB, 8 * benchtest.MB
	measureState(b, data(b, stateFile), first, reads*size, func(f io.ReaderAt, r *benchtest.Random) error {
		buf := benchtest.Buffer(size)
		for range reads {
			if n, err := f.ReadAt(buf, r.Below(span-size+1)); n != size {
				return benchtest.Whole(n, err, size)
			}
		}
		return nil
	})
}

func eachState(b *testing.B, fn func(b *testing.B, path string, state readState)) {
	path := data(b, stateFile)
	if err := syncPath(path); err != nil {
		b.Fatal(err)
	}
	for _, state := range []readState{hot, first, cold} {
		b.Run("state="+string(state), func(b *testing.B) { fn(b, path, state) })
	}
}

func measureState(b *testing.B, path string, state readState, bytes int, op func(f io.ReaderAt, r *benchtest.Random) error) {
	b.Helper()
	if state == cold && pagecache.Missing != "" {
		b.Skip(pagecache.Missing)
	}
	each[io.ReaderAt](b, without(bareCopy), func(b *testing.B, im impl) {
		var r benchtest.Random
		if state == hot {
			f := open[io.ReaderAt](b, im, path, os.O_RDONLY)
			if err := readAtThrough(f, benchtest.Buffer(readBlock), stateFile); err != nil {
				b.Fatal(err)
			}
			measure(b, 1, bytes, func() error { return op(f, &r) })
			return
		}
		b.SetBytes(int64(bytes))
		for b.Loop() {
			if state == cold {
				b.StopTimer()
				if err := pagecache.Drop(path); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			f, err := im.open(path, os.O_RDONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(op(f.(io.ReaderAt), &r), f.Close()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
