package lab

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

const rereadFile = 16 * benchtest.MB

// BenchmarkReread opens a file of 16 MiB, reads 64 bytes of each of 256 scattered pages so many times
// over and closes it: an operation is all that, and ns/read is its share of one ReadAt.
func BenchmarkReread(b *testing.B) {
	const size, pages = 64, 256
	path, buf := data(b, rereadFile), benchtest.Buffer(size)
	var offs [pages]int64
	for i := range offs { // one of each 16 pages, in an order without a pattern: 167 is odd
		offs[i] = int64(i*167%pages) * (rereadFile / pages)
	}
	for _, times := range []int{1, 2, 5, 20, 100} {
		b.Run(fmt.Sprintf("times=%d", times), func(b *testing.B) {
			each[io.ReaderAt](b, []impl{osFile, mmapFile, expMmap}, func(b *testing.B, im impl) {
				for b.Loop() {
					f, err := im.open(path, os.O_RDONLY, 0)
					if err != nil {
						b.Fatal(err)
					}
					for range times {
						for _, off := range offs {
							if n, err := f.(io.ReaderAt).ReadAt(buf, off); n != size {
								b.Fatal(benchtest.Whole(n, err, size))
							}
						}
					}
					if err := f.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N*times*pages), "ns/read")
			})
		})
	}
}

// BenchmarkOpenMemory says what an open file takes of the heap after so many of its pages were read
// twice. What the page cache holds of it is not in that.
func BenchmarkOpenMemory(b *testing.B) {
	const size, page, files = 64, 4 * benchtest.KB, 100
	path, buf := data(b, rereadFile), benchtest.Buffer(size)
	for _, pages := range []int{0, 32, 256, 4096} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			each[io.ReaderAt](b, []impl{osFile, mmapFile, expMmap}, func(b *testing.B, im impl) {
				var grown int64
				for b.Loop() {
					open := make([]io.Closer, files)
					before := heap()
					for i := range open {
						f, err := im.open(path, os.O_RDONLY, 0)
						if err != nil {
							b.Fatal(err)
						}
						open[i] = f
						for at := range 2 * pages {
							if n, err := f.(io.ReaderAt).ReadAt(buf, int64(at%pages*167%4096)*page); n != size {
								b.Fatal(benchtest.Whole(n, err, size))
							}
						}
					}
					grown += heap() - before
					for _, f := range open {
						if err := f.Close(); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(grown)/float64(b.N*files), "heap-B/file")
			})
		})
	}
}

// heap is how many bytes of it are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
