package mmapfile_test

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"go.dw1.io/mmapfile"
	"golang.org/x/exp/mmap"
)

// Rows of small records, over a hot window inside a larger file. They cost a few nanoseconds, so
// an iteration walks the whole window, and each implementation has its own loop: a call through
// an interface or from b.Loop would be a good part of the figure.

const (
	hotWindow = 64 * kb
	hotFile   = mb
)

// eachRecord runs fn for every size of record, with the path of the file that has the window.
func eachRecord(b *testing.B, sizes []int, fn func(b *testing.B, path string, size int)) {
	path := benchData(b, hotFile)
	for _, size := range sizes {
		b.Run("size="+sizeName(size), func(b *testing.B) { fn(b, path, size) })
	}
}

// benchPass times pass, a walk through the window in records of size bytes.
func benchPass(b *testing.B, size int, record []byte, pass func(record []byte) error) {
	b.Helper()
	benchOp(b, hotWindow/size, hotWindow, func() error { return pass(record) })
}

func BenchmarkReadRecord(b *testing.B) {
	eachRecord(b, []int{64, kb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f benchFile) {
			benchPass(b, size, benchBuffer(size), readRecords(f))
		})
	})
}

func BenchmarkReadAtRecord(b *testing.B) {
	eachRecord(b, []int{64, kb, 4 * kb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size, expMmap, bareCopy), path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			benchPass(b, size, benchBuffer(size), readAtRecords(f))
		})
	})
}

func BenchmarkWriteRecord(b *testing.B) {
	eachRecord(b, []int{64, kb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDWR, func(b *testing.B, f benchFile) {
			benchPass(b, size, benchContent(size), writeRecords(f))
		})
	})
}

func BenchmarkWriteAtRecord(b *testing.B) {
	eachRecord(b, []int{64, kb, 4 * kb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size, bareCopy), path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			benchPass(b, size, benchContent(size), writeAtRecords(f))
		})
	})
}

// BenchmarkReadAtZeros and BenchmarkWriteAtZeros are the worst case for mmapfile: zeros do not
// prove that the file still reaches there, so it has to look further.
func BenchmarkReadAtZeros(b *testing.B) {
	eachRecord(b, []int{64, kb}, func(b *testing.B, path string, size int) {
		clearFile(b, path)
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			benchPass(b, size, benchBuffer(size), readAtRecords(f))
		})
	})
}

func BenchmarkWriteAtZeros(b *testing.B) {
	eachRecord(b, []int{64, kb}, func(b *testing.B, path string, size int) {
		clearFile(b, path)
		eachOpen(b, benchImpls(size), path, os.O_RDWR, func(b *testing.B, f io.WriterAt) {
			benchPass(b, size, make([]byte, size), writeAtRecords(f))
		})
	})
}

func clearFile(b *testing.B, path string) {
	b.Helper()
	if err := writeBlocks(osFile, path, make([]byte, hotFile), 32*kb); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReadAtGoroutines is the time per record when so many goroutines read from one file.
func BenchmarkReadAtGoroutines(b *testing.B) {
	const size = kb
	path := benchData(b, hotFile)
	warm := func(f io.ReaderAt) error { return readAtRecords(f)(benchBuffer(size)) }
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			eachHot(b, benchImpls(size, bareCopy), path, warm, func(b *testing.B, f io.ReaderAt) {
				pass := readAtRecords(f)
				b.SetBytes(hotWindow)
				b.ResetTimer()
				var wg sync.WaitGroup
				for i := range goroutines {
					wg.Go(func() {
						record := make([]byte, size)
						for range (b.N + i) / goroutines {
							if err := pass(record); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				reportCalls(b, hotWindow/size)
			})
		})
	}
}

func readRecords(f benchFile) func(record []byte) error {
	switch f := f.(type) {
	case *os.File:
		return func(record []byte) error {
			if err := benchRewind(f); err != nil {
				return err
			}
			for range hotWindow / len(record) {
				if n, err := f.Read(record); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case *mmapfile.File:
		return func(record []byte) error {
			if err := benchRewind(f); err != nil {
				return err
			}
			for range hotWindow / len(record) {
				if n, err := f.Read(record); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	}
	panic("no loop for this type")
}

func writeRecords(f benchFile) func(record []byte) error {
	switch f := f.(type) {
	case *os.File:
		return func(record []byte) error {
			if err := benchRewind(f); err != nil {
				return err
			}
			for range hotWindow / len(record) {
				if n, err := f.Write(record); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case *mmapfile.File:
		return func(record []byte) error {
			if err := benchRewind(f); err != nil {
				return err
			}
			for range hotWindow / len(record) {
				if n, err := f.Write(record); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	}
	panic("no loop for this type")
}

func readAtRecords(f io.ReaderAt) func(record []byte) error {
	switch f := f.(type) {
	case *os.File:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				if n, err := f.ReadAt(record, int64(off)); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case *mmapfile.File:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				if n, err := f.ReadAt(record, int64(off)); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case *mmap.ReaderAt:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				if n, err := f.ReadAt(record, int64(off)); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case bare:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				copy(record, f.mem[off:])
			}
			return nil
		}
	}
	panic("no loop for this type")
}

func writeAtRecords(f io.WriterAt) func(record []byte) error {
	switch f := f.(type) {
	case *os.File:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				if n, err := f.WriteAt(record, int64(off)); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case *mmapfile.File:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				if n, err := f.WriteAt(record, int64(off)); n != len(record) {
					return benchWhole(n, err, len(record))
				}
			}
			return nil
		}
	case bare:
		return func(record []byte) error {
			for off := 0; off < hotWindow; off += len(record) {
				copy(f.mem[off:], record)
			}
			return nil
		}
	}
	panic("no loop for this type")
}
