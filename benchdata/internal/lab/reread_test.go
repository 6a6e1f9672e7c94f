package lab

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

const (
	rereadFile = 16 * benchtest.MB
	rereadPage = 4 * benchtest.KB
	rereadSize = 64 // of a read
)

// reread reads so many pages of a file of rereadFile bytes, each step pages after the one before, in an order
// without a pattern, so many times over.
func reread(f io.ReaderAt, buf []byte, pages, step, times int) error {
	for range times {
		for i := range pages {
			page := i * 167 % pages * step // 167 is odd, and pages a power of two
			if n, err := f.ReadAt(buf, int64(page*rereadPage)); n != len(buf) {
				return benchtest.Whole(n, err, len(buf))
			}
		}
	}
	return nil
}

// BenchmarkReread opens a file, reads from each of 256 pages so many times, and closes it. The figure is that of
// one ReadAt, with its share of opening and closing.
func BenchmarkReread(b *testing.B) {
	const pages = 256
	path, buf := data(b, rereadFile), benchtest.Buffer(rereadSize)
	for i, step := range [len(results.RereadPages)]int{1, farthest(pages)} {
		for _, times := range results.RereadTimes {
			b.Run(fmt.Sprintf("pages=%s/times=%d", results.RereadPages[i], times), func(b *testing.B) {
				each[io.ReaderAt](b, []impl{osFile, mmapFile, expMmap, osAgain}, func(b *testing.B, im impl) {
					for b.Loop() {
						f, err := im.open(path, os.O_RDONLY, 0)
						if err != nil {
							b.Fatal(err)
						}
						if err := reread(f.(io.ReaderAt), buf, pages, step, times); err != nil {
							b.Fatal(err)
						}
						if err := f.Close(); err != nil {
							b.Fatal(err)
						}
					}
					perCall(b, times*pages)
				})
			})
		}
	}
}

// farthest is the step with which so many pages are as far from each other as they can be.
func farthest(pages int) int { return rereadFile / rereadPage / pages }

// BenchmarkOpenMemory says what an open file takes of the heap and of page tables after so many of its pages
// were read so many times. What the page cache holds of it is not in that.
func BenchmarkOpenMemory(b *testing.B) {
	const files = 32
	if pageTables(b) == 0 {
		b.Skip("this system does not tell the size of page tables")
	}
	path, buf := data(b, rereadFile), benchtest.Buffer(rereadSize)
	for _, times := range results.OpenTimes {
		for _, pages := range results.OpenPages {
			b.Run(fmt.Sprintf("times=%d/pages=%d", times, pages), func(b *testing.B) {
				each[io.ReaderAt](b, []impl{osFile, mmapFile, expMmap}, func(b *testing.B, im impl) {
					var ofHeap, ofTables int64
					open := make([]io.Closer, files)
					for b.Loop() {
						heapBefore, tablesBefore := heap(), pageTables(b)
						for i := range open {
							f, err := im.open(path, os.O_RDONLY, 0)
							if err != nil {
								b.Fatal(err)
							}
							open[i] = f
							if err := reread(f.(io.ReaderAt), buf, pages, farthest(pages), times); err != nil {
								b.Fatal(err)
							}
						}
						ofHeap += heap() - heapBefore
						ofTables += pageTables(b) - tablesBefore
						for i, f := range open {
							if err := f.Close(); err != nil {
								b.Fatal(err)
							}
							open[i] = nil
						}
					}
					b.ReportMetric(float64(ofHeap)/float64(b.N*files), "heap-B/op")
					b.ReportMetric(float64(ofTables)/float64(b.N*files), "page-tables-B/op")
					b.ReportMetric(0, "ns/op") // it is no time of anything
				})
			})
		}
	}
}

// heap returns how many bytes of it are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what has a cleanup goes in the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// pageTables returns how many bytes those of this process take, 0 if the system does not say.
func pageTables(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nVmPTE:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib * benchtest.KB
}
