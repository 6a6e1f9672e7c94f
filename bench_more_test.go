package mmapfile_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What the published rows leave out.

// BenchmarkReadOneCall reads the whole file in one call.
func BenchmarkReadOneCall(b *testing.B) {
	eachSize(b, oneCallSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f benchFile) {
			buf := benchBuffer(size)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				n, err := f.Read(buf)
				return benchWhole(n, err, size)
			})
		})
	})
}

// BenchmarkReadAtOneCall reads the whole file in one call.
func BenchmarkReadAtOneCall(b *testing.B) {
	eachSize(b, oneCallSizes, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size, expMmap, bareCopy), path, os.O_RDONLY, func(b *testing.B, f io.ReaderAt) {
			buf := benchBuffer(size)
			benchOp(b, 1, size, func() error {
				n, err := f.ReadAt(buf, 0)
				return benchWhole(n, err, size)
			})
		})
	})
}

func BenchmarkWriteToDiscard(b *testing.B) {
	benchmarkWriteTo(b, func(*testing.B) io.Writer { return io.Discard })
}

// BenchmarkWriteToBuffer fills a new bytes.Buffer each time.
func BenchmarkWriteToBuffer(b *testing.B) {
	// All rounds find the same memory to reuse: with a heap that grows, the first ones would pay
	// for new memory; with a small one, the collector would give the memory back between them.
	benchContent(256 * mb)
	benchmarkWriteTo(b, func(b *testing.B) io.Writer {
		b.StopTimer()
		runtime.GC()
		b.StartTimer()
		return new(bytes.Buffer)
	})
}

func benchmarkWriteTo(b *testing.B, writer func(b *testing.B) io.Writer) {
	eachSize(b, []int{mb, 100 * mb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f benchFile) {
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				n, err := f.WriteTo(writer(b))
				return benchWhole(n, err, size)
			})
		})
	})
}

// BenchmarkSyncAfter1KB makes 1 KiB of a file of 1 MiB durable.
func BenchmarkSyncAfter1KB(b *testing.B) {
	data := benchContent(kb)
	eachOpen(b, benchImpls(0), benchData(b, mb), os.O_RDWR, func(b *testing.B, f benchFile) {
		benchOp(b, 1, kb, func() error {
			n, err := f.WriteAt(data, 0)
			if err := benchWhole(n, err, kb); err != nil {
				return err
			}
			return f.Sync()
		})
	})
}

// BenchmarkOpenRead4KBClose opens a file of 4 KiB, reads it in one call and closes it.
func BenchmarkOpenRead4KBClose(b *testing.B) {
	path, buf := benchData(b, readBlock), benchBuffer(readBlock)
	eachImpl(b, benchImpls(0, expMmap), func(b *testing.B, im benchImpl) {
		benchOp(b, 1, readBlock, func() error {
			f, err := im.open(path, os.O_RDONLY)
			if err != nil {
				return err
			}
			var n int
			if r, ok := f.(io.Reader); ok {
				n, err = r.Read(buf)
			} else {
				n, err = f.(io.ReaderAt).ReadAt(buf, 0)
			}
			if err := benchWhole(n, err, readBlock); err != nil {
				return err
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

func benchmarkAppend(b *testing.B, flag int) {
	const limit = gb // for a long -benchtime
	for _, size := range []int{100, 4 * kb} {
		b.Run("size="+sizeName(size), func(b *testing.B) {
			data := benchContent(size)
			path := filepath.Join(benchDir(b), "log")
			eachOpen(b, benchImpls(size), path, flag|os.O_CREATE|os.O_TRUNC, func(b *testing.B, f benchFile) {
				written := 0
				write := func() error {
					n, err := f.Write(data)
					written += n
					return benchWhole(n, err, size)
				}
				benchWarmUp(b, 100, write)
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
						if err := benchRewind(f); err != nil {
							b.Fatal(err)
						}
						written = 0
						b.StartTimer()
					}
				}
			})
		})
	}
}

// BenchmarkFirstTouchFreshWrite creates a file, writes 16 MiB to it and closes it.
func BenchmarkFirstTouchFreshWrite(b *testing.B) {
	const size = 16 * mb
	data := benchContent(size)
	for _, block := range []int{4 * kb, 64 * kb, mb} {
		b.Run("block="+sizeName(block), func(b *testing.B) {
			path := filepath.Join(benchDir(b), "fresh")
			eachImpl(b, benchImpls(size), func(b *testing.B, im benchImpl) {
				b.SetBytes(size)
				for b.Loop() {
					if err := writeBlocks(im, path, data, block); err != nil {
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

// BenchmarkCopyFileToFile rewrites a file of the same size by io.Copy.
func BenchmarkCopyFileToFile(b *testing.B) {
	eachSize(b, []int{mb, 100 * mb}, func(b *testing.B, from string, size int) {
		to := benchData(b, size)
		eachImpl(b, benchImpls(size), func(b *testing.B, im benchImpl) {
			src := benchOpen[benchFile](b, im, from, os.O_RDONLY)
			dst := benchOpen[benchFile](b, im, to, os.O_RDWR)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(src); err != nil {
					return err
				}
				if err := benchRewind(dst); err != nil {
					return err
				}
				n, err := io.Copy(dst, src)
				return benchWhole(n, err, size)
			})
		})
	})
}

// BenchmarkCopyFileToTCP sends a file over the loopback by io.Copy, until the other side has it.
func BenchmarkCopyFileToTCP(b *testing.B) {
	eachSize(b, []int{mb, 100 * mb}, func(b *testing.B, path string, size int) {
		eachOpen(b, benchImpls(size), path, os.O_RDONLY, func(b *testing.B, f benchFile) {
			conn, done := dialReceiver(b, size)
			benchOp(b, 1, size, func() error {
				if err := benchRewind(f); err != nil {
					return err
				}
				n, err := io.Copy(conn, f)
				if err := benchWhole(n, err, size); err != nil {
					return err
				}
				return <-done
			})
		})
	})
}

// dialReceiver connects to a peer that reads everything, and sends on the channel after every
// size bytes. An error ends it.
func dialReceiver(b *testing.B, size int) (net.Conn, <-chan error) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	peer, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { peer.Close() })

	done := make(chan error, 1) // room for the last error, which nobody waits for
	go func() {
		buf := make([]byte, mb)
		for got := 0; ; {
			n, err := peer.Read(buf)
			if got += n; got >= size {
				got -= size
				done <- nil
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	return conn, done
}
