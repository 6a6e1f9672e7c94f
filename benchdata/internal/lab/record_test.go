package lab

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// Rows of small records, over a hot window inside a larger file. They cost a few nanoseconds, so
// an iteration walks the whole window. All are called through an interface, the bare copy too.

const (
	hotWindow = 64 * benchtest.KB
	hotFile   = benchtest.MB
)

// eachRecord runs fn for every size of record, with the path of the file that has the window.
func eachRecord(b *testing.B, sizes []int, fn func(b *testing.B, path string, size int)) {
	path := data(b, hotFile)
	for _, size := range sizes {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) { fn(b, path, size) })
	}
}

// measurePass times pass, a walk through the window in records of size bytes.
func measurePass(b *testing.B, size int, pass func() error) {
	b.Helper()
	measure(b, hotWindow/size, hotWindow, pass)
}

func BenchmarkReadRecord(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReadSeeker) {
			record := benchtest.Buffer(size)
			measurePass(b, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				for range hotWindow / size {
					if n, err := f.Read(record); n != size {
						return benchtest.Whole(n, err, size)
					}
				}
				return nil
			})
		})
	})
}

func BenchmarkReadAtRecord(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB, 4 * benchtest.KB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			record := benchtest.Buffer(size)
			measurePass(b, size, func() error { return readAtThrough(f, record, hotWindow) })
		})
	})
}

// BenchmarkSliceCopy copies records from the slice that is the file, without any method.
func BenchmarkSliceCopy(b *testing.B) {
	type file interface{ Bytes() []byte }
	eachRecord(b, []int{64, benchtest.KB, 4 * benchtest.KB, 64 * benchtest.KB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f file) {
			record, mem := benchtest.Buffer(size), f.Bytes()
			measurePass(b, size, func() error {
				for off := 0; off < hotWindow; off += size {
					copy(record, mem[off:])
				}
				return nil
			})
		})
	})
}

func BenchmarkWriteRecord(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f io.WriteSeeker) {
			record := benchtest.Content(size)
			measurePass(b, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				for range hotWindow / size {
					if n, err := f.Write(record); n != size {
						return benchtest.Whole(n, err, size)
					}
				}
				return nil
			})
		})
	})
}

func BenchmarkWriteAtRecord(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB, 4 * benchtest.KB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			record := benchtest.Content(size)
			measurePass(b, size, func() error { return writeAtThrough(f, record, hotWindow) })
		})
	})
}

// BenchmarkReadAtZeros and BenchmarkWriteAtZeros are the worst case for mmapfile: zeros do not
// prove that the file still reaches there, so it has to look further.
func BenchmarkReadAtZeros(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB}, func(b *testing.B, path string, size int) {
		clearFile(b, path)
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			record := benchtest.Buffer(size)
			measurePass(b, size, func() error { return readAtThrough(f, record, hotWindow) })
		})
	})
}

func BenchmarkWriteAtZeros(b *testing.B) {
	eachRecord(b, []int{64, benchtest.KB}, func(b *testing.B, path string, size int) {
		clearFile(b, path)
		eachOpen(b, size, path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			record := make([]byte, size)
			measurePass(b, size, func() error { return writeAtThrough(f, record, hotWindow) })
		})
	})
}

func clearFile(b *testing.B, path string) {
	b.Helper()
	if err := writeBlocks(osFile, path, make([]byte, hotFile), filePiece); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReadAtGoroutines is the time by the number of records when so many goroutines read them
// from one file.
func BenchmarkReadAtGoroutines(b *testing.B) {
	eachGoroutines(b, func(b *testing.B, path string, goroutines int) {
		eachOpen(b, benchtest.KB, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			measureGoroutines(b, goroutines, func(record []byte, _ int) error {
				return readAtThrough(f, record, hotWindow)
			})
		})
	})
}

// BenchmarkWriteAtGoroutines is the same for writes, each goroutine's to a window of its own.
func BenchmarkWriteAtGoroutines(b *testing.B) {
	eachGoroutines(b, func(b *testing.B, path string, goroutines int) {
		eachOpen(b, benchtest.KB, path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			measureGoroutines(b, goroutines, func(record []byte, i int) error {
				for off := i * hotWindow; off < (i+1)*hotWindow; off += len(record) {
					if n, err := f.WriteAt(record, int64(off)); n != len(record) {
						return benchtest.Whole(n, err, len(record))
					}
				}
				return nil
			})
		})
	})
}

func eachGoroutines(b *testing.B, fn func(b *testing.B, path string, goroutines int)) {
	path := data(b, hotFile)
	for _, goroutines := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) { fn(b, path, goroutines) })
	}
}

func measureGoroutines(b *testing.B, goroutines int, pass func(record []byte, i int) error) {
	b.Helper()
	records := make([][]byte, goroutines)
	for i := range records {
		records[i] = append([]byte(nil), benchtest.Content(benchtest.KB)...)
	}
	warmUp(b, hotWindow, func() error { return pass(records[0], 0) })
	began := time.Now()
	warmUp(b, hotWindow, func() error { return pass(records[0], 0) })
	// Waking another processor takes tens of microseconds: with milliseconds of work, that does not matter.
	passes := max(1, int(100*4*time.Millisecond/time.Since(began)))
	measure(b, goroutines*passes*hotWindow/benchtest.KB, goroutines*passes*hotWindow, func() error {
		return benchtest.Together(goroutines, func(i int) error {
			for range passes {
				if err := pass(records[i], i); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
