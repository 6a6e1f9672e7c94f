package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"golang.org/x/exp/mmap"
)

// The comparison with os.File. This file has what all rows share and the rows of the benchmark
// that was published for this package's predecessor; bench_more_test.go has what those leave
// out, and bench_record_test.go the rows of a few nanoseconds. "make bench" runs a selection.

const (
	kb = 1 << 10
	mb = 1 << 20
	gb = 1 << 30

	readBlock = 4 * kb
)

var (
	publishedSizes = []int{kb, 10 * kb, 100 * kb, mb, 10 * mb, 100 * mb, 500 * mb, gb}
	oneCallSizes   = []int{kb, 4 * kb, 10 * kb, 100 * kb, mb, 2 * mb, 10 * mb, 100 * mb, 500 * mb, gb}
)

// benchFile is what the rows ask of *os.File and *mmapfile.File alike.
type benchFile interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.ReaderFrom
	io.WriterTo
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// benchImpl is one implementation under comparison.
type benchImpl struct {
	name string
	open func(path string, flag int) (io.Closer, error)
}

var (
	osFile   = benchImpl{"os", openOS}
	osAgain  = benchImpl{"os-again", openOS} // os.File against itself: the noise of a row
	mmapFile = benchImpl{"mmapfile", func(path string, flag int) (io.Closer, error) {
		return mmapfile.OpenFile(path, flag, 0o644)
	}}
	expMmap  = benchImpl{"exp", func(path string, _ int) (io.Closer, error) { return mmap.Open(path) }}
	bareCopy = benchImpl{"copy", openBare}
)

func openOS(path string, flag int) (io.Closer, error) { return os.OpenFile(path, flag, 0o644) }

// bare is the limit: nothing but the copy from and to the mapping.
type bare struct {
	io.Closer
	mem []byte
}

func openBare(path string, flag int) (io.Closer, error) {
	f, err := mmapfile.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err
	}
	mem := f.Bytes()
	if mem == nil {
		return nil, errors.Join(errors.New("cannot be mapped"), f.Close())
	}
	return bare{f, mem}, nil
}

func (f bare) ReadAt(p []byte, off int64) (int, error)  { return copy(p, f.mem[off:]), nil }
func (f bare) WriteAt(p []byte, off int64) (int, error) { return copy(f.mem[off:], p), nil }

// benchImpls is what a row over size bytes compares: os.File, mmapfile, more, and os.File once more
// where that does not take too long.
func benchImpls(size int, more ...benchImpl) []benchImpl {
	list := append([]benchImpl{osFile, mmapFile}, more...)
	if size < 500*mb {
		list = append(list, osAgain)
	}
	return list
}

// eachImpl runs fn for every implementation in list.
func eachImpl(b *testing.B, list []benchImpl, fn func(b *testing.B, im benchImpl)) {
	for _, im := range list {
		b.Run("impl="+im.name, func(b *testing.B) { fn(b, im) })
	}
}

// eachOpen runs fn for every implementation in list, with path open.
func eachOpen[F any](b *testing.B, list []benchImpl, path string, flag int, fn func(b *testing.B, f F)) {
	eachImpl(b, list, func(b *testing.B, im benchImpl) {
		f := benchOpen[F](b, im, path, flag)
		fn(b, f)
	})
}

// eachHot is eachOpen for rows that count to b.N, and so are called many times over: the file is
// opened and warmed up in the first of these calls.
func eachHot(b *testing.B, list []benchImpl, path string, warm func(f io.ReaderAt) error, fn func(b *testing.B, f io.ReaderAt)) {
	for _, im := range list {
		var f io.ReaderAt
		parent := b
		b.Run("impl="+im.name, func(b *testing.B) {
			if f == nil {
				f = benchOpen[io.ReaderAt](parent, im, path, os.O_RDONLY)
				benchWarmUp(b, 6, func() error { return warm(f) })
			}
			fn(b, f)
		})
	}
}

// benchOpen opens path until the end of b.
func benchOpen[F any](b *testing.B, im benchImpl, path string, flag int) F {
	b.Helper()
	f, err := im.open(path, flag)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	return f.(F)
}

// eachSize runs fn for every size, with a file of that many bytes that all implementations share.
func eachSize(b *testing.B, sizes []int, fn func(b *testing.B, path string, size int)) {
	for _, size := range sizes {
		b.Run("size="+sizeName(size), func(b *testing.B) { fn(b, benchData(b, size), size) })
	}
}

func sizeName(n int) string {
	switch {
	case n%gb == 0:
		return fmt.Sprintf("%dGB", n/gb)
	case n%mb == 0:
		return fmt.Sprintf("%dMB", n/mb)
	case n%kb == 0:
		return fmt.Sprintf("%dKB", n/kb)
	}
	return fmt.Sprintf("%dB", n)
}

// benchDir is a directory for the files of b, in $BENCH_DIR if that is set.
func benchDir(b *testing.B) string {
	b.Helper()
	parent := os.Getenv("BENCH_DIR")
	if parent == "" {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "mmapfile-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// benchData makes a file of size bytes, all written, so that no implementation has a hole to fill.
// It is written as io.Copy would: after one large write, Linux keeps it in large folios, and on
// ext4 every small write by os.File then takes more than twice as long.
func benchData(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(benchDir(b), "data")
	if err := writeBlocks(osFile, path, benchContent(size), 32*kb); err != nil {
		b.Fatal(err)
	}
	return path
}

// writeBlocks makes a new file of data, in writes of so many bytes.
func writeBlocks(im benchImpl, path string, data []byte, block int) error {
	f, err := im.open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	w := f.(io.Writer)
	for len(data) > 0 {
		p := data[:min(block, len(data))]
		n, err := w.Write(p)
		if err := benchWhole(n, err, len(p)); err != nil {
			return errors.Join(err, f.Close())
		}
		data = data[len(p):]
	}
	return f.Close()
}

// The rows share their memory: making and filling 1 GiB for each of them takes longer than they do.
var benchPattern, benchTarget []byte

// benchContent is size bytes to write, none of them zero.
func benchContent(size int) []byte {
	if len(benchPattern) < size {
		const period = 1<<16 + 1 // odd, so that no two pages are alike
		p := make([]byte, size)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range min(size, period) {
			p[i] = byte(1 + r.IntN(255))
		}
		for n := period; n < size; n *= 2 {
			copy(p[n:], p[:n])
		}
		benchPattern = p
	}
	return benchPattern[:size]
}

// benchBuffer is size bytes to read into, touched before.
func benchBuffer(size int) []byte {
	if len(benchTarget) < size {
		benchTarget = bytes.Repeat([]byte{1}, size)
	}
	return benchTarget[:size]
}

// benchOp times op, which makes so many calls and moves so many bytes in all, in its steady state.
// The figure is that of one call.
func benchOp(b *testing.B, calls, bytes int, op func() error) {
	b.Helper()
	// Mapping is lazy, and so is the choice between a mapped store and pwrite.
	rounds := 6
	if bytes <= 100*kb {
		rounds = 100
	}
	benchWarmUp(b, rounds, op)
	b.SetBytes(int64(bytes))
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	reportCalls(b, calls)
}

func benchWarmUp(b *testing.B, rounds int, op func() error) {
	b.Helper()
	for range rounds {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
}

// reportCalls makes the figure of a row that of one call, if an iteration makes several.
func reportCalls(b *testing.B, calls int) {
	if calls > 1 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(calls), "ns/op")
	}
}

// benchWhole is err, or that a call moved another number of bytes than it was to.
func benchWhole[N int | int64](n N, err error, want int) error {
	if err == nil && int64(n) != int64(want) {
		return fmt.Errorf("%d bytes, not %d", n, want)
	}
	return err
}

func benchRewind(f io.Seeker) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// readThrough reads size bytes of f in blocks, up to the end of the file.
func readThrough(f io.Reader, buf []byte, size int) error {
	total := 0
	for {
		n, err := f.Read(buf)
		total += n
		if err == io.EOF {
			return benchWhole(total, nil, size)
		}
		if err != nil {
			return err
		}
	}
}

// readAtThrough is readThrough with ReadAt.
func readAtThrough(f io.ReaderAt, buf []byte, size int) error {
	for off := 0; off < size; off += len(buf) {
		n, err := f.ReadAt(buf, int64(off))
		if err != nil && err != io.EOF {
			return err
		}
		if want := min(len(buf), size-off); n != want {
			return benchWhole(n, nil, want)
		}
	}
	return nil
}

func BenchmarkRead(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f benchFile) {
			buf := benchBuffer(readBlock)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				return readThrough(f, buf, size)
			})
		})
	})
}

func BenchmarkReadAt(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size, expMmap), path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			buf := benchBuffer(readBlock)
			benchOp(b, 1, size, func() error { return readAtThrough(f, buf, size) })
		})
	})
}

func BenchmarkReadAtParallel(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		warm := func(f io.ReaderAt) error { return readAtThrough(f, benchBuffer(readBlock), size) }
		n := min(size, readBlock)
		eachHot(b, benchImpls(size, expMmap), path, warm, func(b *testing.B, f io.ReaderAt) {
			var seed atomic.Uint64
			b.SetBytes(int64(n))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				buf := make([]byte, readBlock)
				x := seed.Add(1)
				for pb.Next() {
					// A linear congruence costs a nanosecond; math/rand would be in the figure.
					x = x*6364136223846793005 + 1442695040888963407
					off := (x >> 32) * uint64(size-n+1) >> 32
					if got, err := f.ReadAt(buf, int64(off)); got != n || (err != nil && err != io.EOF) {
						b.Error(benchWhole(got, err, n))
						return
					}
				}
			})
		})
	})
}

func BenchmarkWrite(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDWR, func(b *testing.B, f benchFile) {
			data := benchContent(size)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				n, err := f.Write(data)
				return benchWhole(n, err, size)
			})
		})
	})
}

func BenchmarkWriteAt(b *testing.B) {
	eachSize(b, oneCallSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size, bareCopy), path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			data := benchContent(size)
			benchOp(b, 1, size, func() error {
				n, err := f.WriteAt(data, 0)
				return benchWhole(n, err, size)
			})
		})
	})
}

func BenchmarkReadFrom(b *testing.B) {
	eachSize(b, publishedSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDWR, func(b *testing.B, f benchFile) {
			data := benchContent(size)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				n, err := f.ReadFrom(bytes.NewReader(data))
				return benchWhole(n, err, size)
			})
		})
	})
}

// smallFile is the size of the file that the published rows without a size use.
const smallFile = 36

func BenchmarkSeek(b *testing.B) {
	eachOpen(b, benchImpls(0), benchData(b, smallFile), os.O_RDONLY, func(b *testing.B, f benchFile) {
		benchOp(b, 10, 0, func() error {
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
	eachOpen(b, benchImpls(0), benchData(b, smallFile), os.O_RDONLY, func(b *testing.B, f benchFile) {
		benchOp(b, 1, smallFile, func() error {
			if err := benchRewind(f); err != nil {
				return err
			}
			n, err := f.WriteTo(io.Discard)
			return benchWhole(n, err, smallFile)
		})
	})
}

func BenchmarkStat(b *testing.B) {
	eachOpen(b, benchImpls(0), benchData(b, smallFile), os.O_RDONLY, func(b *testing.B, f benchFile) {
		benchOp(b, 1, 0, func() error {
			_, err := f.Stat()
			return err
		})
	})
}

// BenchmarkSync syncs a file that did not change since.
func BenchmarkSync(b *testing.B) {
	eachOpen(b, benchImpls(0), benchData(b, kb), os.O_RDWR, func(b *testing.B, f benchFile) {
		benchOp(b, 1, 0, f.Sync)
	})
}

// BenchmarkClose opens a file and closes it.
func BenchmarkClose(b *testing.B) {
	path := benchData(b, kb)
	eachImpl(b, benchImpls(0), func(b *testing.B, im benchImpl) {
		benchOp(b, 1, 0, func() error {
			f, err := im.open(path, os.O_RDWR|os.O_CREATE)
			if err != nil {
				return err
			}
			return f.Close()
		})
	})
}
