package lab

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// What the published rows leave out, call by call.

var oneCallSizes = []int{benchtest.KB, 4 * benchtest.KB, 10 * benchtest.KB, 100 * benchtest.KB, benchtest.MB, 2 * benchtest.MB, 10 * benchtest.MB, 100 * benchtest.MB, benchtest.GB}

// BenchmarkReadOneCall reads the whole file in one call.
func BenchmarkReadOneCall(b *testing.B) {
	eachSizeToRead(b, oneCallSizes[:len(oneCallSizes)-1], func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReadSeeker) {
			buf := benchtest.Buffer(size)
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				n, err := f.Read(buf)
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

// BenchmarkReadAtOneCall reads the whole file in one call.
func BenchmarkReadAtOneCall(b *testing.B) {
	eachSizeToRead(b, oneCallSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			buf := benchtest.Buffer(size)
			measure(b, 1, size, func() error {
				n, err := f.ReadAt(buf, 0)
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

// BenchmarkWriteToBuffer fills a new bytes.Buffer each time.
func BenchmarkWriteToBuffer(b *testing.B) {
	// All rounds find the same memory to reuse: with a heap that grows, the first ones would pay
	// for new memory; with a small one, the collector would give the memory back between them.
	benchtest.Content(256 * benchtest.MB)
	benchmarkWriteTo(b, func(b *testing.B) io.Writer {
		b.StopTimer()
		runtime.GC()
		b.StartTimer()
		return new(bytes.Buffer)
	})
}

func BenchmarkWriteToDiscard(b *testing.B) {
	benchmarkWriteTo(b, func(*testing.B) io.Writer { return io.Discard })
}

func benchmarkWriteTo(b *testing.B, writer func(b *testing.B) io.Writer) {
	eachSizeToRead(b, []int{benchtest.MB, 100 * benchtest.MB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f seekWriterTo) {
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				n, err := f.WriteTo(writer(b))
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

// BenchmarkOpenRead4KBClose opens a file of 4 KiB, reads it in one call and closes it.
func BenchmarkOpenRead4KBClose(b *testing.B) {
	benchmarkOpenRead(b, readBlock)
}

// BenchmarkOpenOneReadAtClose opens a file of 64 MiB, reads 4 KiB somewhere in it and closes it.
func BenchmarkOpenOneReadAtClose(b *testing.B) {
	benchmarkOpenRead(b, 64*benchtest.MB)
}

func benchmarkOpenRead(b *testing.B, size int) {
	path, buf := data(b, size), benchtest.Buffer(readBlock)
	each[io.ReaderAt](b, without(bareCopy), func(b *testing.B, im impl) {
		var r benchtest.Random
		measure(b, 1, readBlock, func() error {
			f, err := im.open(path, os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			var n int
			if seq, ok := f.(io.Reader); ok && size == readBlock {
				n, err = seq.Read(buf)
			} else {
				n, err = f.(io.ReaderAt).ReadAt(buf, r.Below(size-readBlock+1))
			}
			if n != readBlock {
				return benchtest.Whole(n, err, readBlock)
			}
			return f.Close()
		})
	})
}

// BenchmarkAppend writes to the end of a file opened with O_APPEND.
func BenchmarkAppend(b *testing.B) {
	benchmarkAppend(b, os.O_WRONLY|os.O_APPEND)
}

// BenchmarkAppendCursor writes at the cursor, which is at the end.
func BenchmarkAppendCursor(b *testing.B) {
	benchmarkAppend(b, os.O_RDWR)
}

type growingFile interface {
	io.WriteSeeker
	Truncate(size int64) error
}

func benchmarkAppend(b *testing.B, flag int) {
	const limit = benchtest.GB // for a long -benchtime
	for _, size := range []int{100, 4 * benchtest.KB} {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) {
			p := benchtest.Content(size)
			path := filepath.Join(benchtest.TempDir(b), "log")
			eachOpen(b, size, path, flag|os.O_CREATE|os.O_TRUNC, func(b *testing.B, f growingFile) {
				written := 0
				write := func() error {
					n, err := f.Write(p)
					written += n
					return benchtest.Whole(n, err, size)
				}
				w := warmUp(b, size, write)
				b.SetBytes(int64(size))
				for b.Loop() {
					if err := write(); err != nil {
						b.Fatal(err)
					}
					if written >= limit {
						b.StopTimer()
						if err := f.Truncate(0); err != nil {
							b.Fatal(err)
						}
						if err := rewind(f); err != nil {
							b.Fatal(err)
						}
						written = 0
						b.StartTimer()
					}
				}
				w.report(b)
			})
		})
	}
}

// BenchmarkCreateWriteClose creates a file, writes 16 MiB to it and closes it.
func BenchmarkCreateWriteClose(b *testing.B) {
	const size = 16 * benchtest.MB
	p := benchtest.Content(size)
	for _, block := range []int{4 * benchtest.KB, 64 * benchtest.KB, benchtest.MB} {
		b.Run("block="+benchtest.SizeName(block), func(b *testing.B) {
			path := filepath.Join(benchtest.TempDir(b), "fresh")
			each[io.Writer](b, everyone, func(b *testing.B, im impl) {
				b.SetBytes(size)
				for b.Loop() {
					if err := writeBlocks(im, path, p, block); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					if err := os.Remove(path); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		})
	}
}

// BenchmarkPipe sends 64 KiB through a pipe and reads them.
func BenchmarkPipe(b *testing.B) {
	const size = 64 * benchtest.KB
	adopt := map[string]func(f *os.File) (io.ReadWriteCloser, error){
		"os":       func(f *os.File) (io.ReadWriteCloser, error) { return f, nil },
		"mmapfile": func(f *os.File) (io.ReadWriteCloser, error) { return mmapfile.New(f) },
	}
	adopt["os-again"] = adopt["os"]
	each[io.ReadWriteCloser](b, []impl{osFile, mmapFile, osAgain}, func(b *testing.B, im impl) {
		var ends [2]io.ReadWriteCloser
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		for i, f := range []*os.File{r, w} {
			if ends[i], err = adopt[im.name](f); err != nil {
				b.Fatal(err)
			}
			defer ends[i].Close()
		}
		p, buf := benchtest.Content(size/2), make([]byte, size/2)
		measure(b, 1, size, func() error {
			for range 2 { // half of what fits into a pipe, so that neither side waits
				if n, err := ends[1].Write(p); n != len(p) {
					return fmt.Errorf("%d bytes: %w", n, err)
				}
				if _, err := io.ReadFull(ends[0], buf); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
