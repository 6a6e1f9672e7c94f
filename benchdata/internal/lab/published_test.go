package lab

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// The rows of the benchmark that was published for this package's predecessor.

const readBlock = 4 * benchtest.KB

var publishedSizes = []int{benchtest.KB, 10 * benchtest.KB, 100 * benchtest.KB, benchtest.MB, 10 * benchtest.MB, 100 * benchtest.MB, 500 * benchtest.MB, benchtest.GB}

func BenchmarkRead(b *testing.B) {
	eachSizeToRead(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReadSeeker) {
			buf := benchtest.Buffer(readBlock)
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				return readThrough(f, buf, size)
			})
		})
	})
}

func BenchmarkReadAt(b *testing.B) {
	eachSizeToRead(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			buf := benchtest.Buffer(readBlock)
			measure(b, 1, size, func() error { return readAtThrough(f, buf, size) })
		})
	})
}

// BenchmarkReadAtParallel reads 4 KiB anywhere in the file, on as many goroutines as there are
// processors. The figure is the time divided by the number of reads.
func BenchmarkReadAtParallel(b *testing.B) {
	eachSizeToRead(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			const reads = 10_000 // milliseconds, beside which waking another processor is nothing
			n, goroutines := min(size, readBlock), runtime.GOMAXPROCS(0)
			buf := benchtest.Buffer(readBlock)
			warmUp(b, size, func() error { return readAtThrough(f, buf, size) })
			seeds := make([]benchtest.Random, goroutines)
			for i := range seeds {
				seeds[i] = benchtest.Random(i + 1)
			}
			b.SetBytes(int64(n * reads * goroutines))
			for b.Loop() {
				err := benchtest.Together(goroutines, func(i int) error {
					buf, r := make([]byte, n), seeds[i]
					for range reads {
						if got, err := f.ReadAt(buf, r.Below(size-n+1)); got != n {
							return benchtest.Whole(got, err, n)
						}
					}
					seeds[i] = r
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			perCall(b, reads*goroutines)
		})
	})
}

func BenchmarkWrite(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f io.WriteSeeker) {
			p := benchtest.Content(size)
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				n, err := f.Write(p)
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

func BenchmarkWriteAt(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			p := benchtest.Content(size)
			measure(b, 1, size, func() error {
				n, err := f.WriteAt(p, 0)
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

func BenchmarkReadFrom(b *testing.B) {
	type file interface {
		io.Seeker
		io.ReaderFrom
	}
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f file) {
			p := benchtest.Content(size)
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				n, err := f.ReadFrom(bytes.NewReader(p))
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

// smallFile is the size of the file that the published rows without a size use.
const smallFile = 36

func BenchmarkSeek(b *testing.B) {
	eachOpen(b, 0, data(b, smallFile), os.O_RDONLY, func(b *testing.B, f io.Seeker) {
		measure(b, 10, 0, func() error {
			for i := range int64(10) {
				if pos, err := f.Seek(i, io.SeekStart); pos != i {
					return err
				}
			}
			return nil
		})
	})
}

func BenchmarkWriteTo(b *testing.B) {
	eachOpen(b, 0, data(b, smallFile), os.O_RDONLY, func(b *testing.B, f seekWriterTo) {
		measure(b, 1, smallFile, func() error {
			if err := rewind(f); err != nil {
				return err
			}
			n, err := f.WriteTo(io.Discard)
			return benchtest.Whole(n, err, smallFile)
		})
	})
}

type seekWriterTo interface {
	io.Seeker
	io.WriterTo
}

func BenchmarkStat(b *testing.B) {
	type file interface{ Stat() (fs.FileInfo, error) }
	eachOpen(b, 0, data(b, smallFile), os.O_RDONLY, func(b *testing.B, f file) {
		measure(b, 1, 0, func() error {
			_, err := f.Stat()
			return err
		})
	})
}

// BenchmarkSync syncs a file that did not change since.
func BenchmarkSync(b *testing.B) {
	type file interface{ Sync() error }
	eachOpen(b, 0, data(b, benchtest.KB), os.O_RDWR, func(b *testing.B, f file) {
		measure(b, 1, 0, f.Sync)
	})
}

// BenchmarkClose opens a file and closes it.
func BenchmarkClose(b *testing.B) {
	path := data(b, benchtest.KB)
	each[io.Closer](b, without(bareCopy), func(b *testing.B, im impl) {
		flag := os.O_RDWR | os.O_CREATE
		measure(b, 1, 0, func() error {
			f, err := im.open(path, flag, benchtest.KB)
			if err != nil {
				return err
			}
			return f.Close()
		})
	})
}
