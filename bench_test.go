package mmapfile_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// Calls on a file in memory, against os.File. The published comparison, with other mappings, and with
// more calls and states of the file, is in benchdata; see "make bench".

const benchFileSize = 1 << 20

var benchImpls = []struct {
	name string
	open func(name string, flag int) (io.Closer, error)
}{
	{"os", func(name string, flag int) (io.Closer, error) { return os.OpenFile(name, flag, 0) }},
	{"mmapfile", func(name string, flag int) (io.Closer, error) { return mmapfile.OpenFile(name, flag, 0) }},
}

// benchCalls times calls of several sizes, one after the other in the file, for each implementation
// that has the methods of F.
func benchCalls[F io.Closer](b *testing.B, flag int, call func(f F, p []byte, off int64) (int, error)) {
	name := filetest.Temp(b, bytes.Repeat([]byte{1}, benchFileSize))
	for _, size := range []int{64, 4 << 10, benchFileSize} {
		for _, impl := range benchImpls {
			c, err := impl.open(name, flag)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			f, ok := c.(F)
			if !ok {
				continue
			}
			p, off := bytes.Repeat([]byte{1}, size), int64(0)
			next := func(b *testing.B) {
				if n, err := call(f, p, off); n != size || err != nil {
					b.Fatal(n, err)
				}
				off = (off + int64(size)) % benchFileSize
			}
			b.Run(fmt.Sprintf("bytes=%d/impl=%s", size, impl.name), func(b *testing.B) {
				for range max(4*benchFileSize/size, 100) { // until calls are mapped
					next(b)
				}
				b.SetBytes(int64(size))
				for b.Loop() {
					next(b)
				}
			})
		}
	}
}

// atCursor makes the call at the cursor, which it moves back at the end of the file.
func atCursor(s io.Seeker, p []byte, off int64, call func(p []byte) (int, error)) (int, error) {
	if off == 0 {
		if _, err := s.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return call(p)
}

func BenchmarkRead(b *testing.B) {
	benchCalls(b, os.O_RDONLY, func(f io.ReadSeekCloser, p []byte, off int64) (int, error) { return atCursor(f, p, off, f.Read) })
}

func BenchmarkReadAt(b *testing.B) {
	type file interface {
		io.ReaderAt
		io.Closer
	}
	benchCalls(b, os.O_RDONLY, func(f file, p []byte, off int64) (int, error) { return f.ReadAt(p, off) })
}

func BenchmarkWrite(b *testing.B) {
	benchCalls(b, os.O_RDWR, func(f filetest.File, p []byte, off int64) (int, error) { return atCursor(f, p, off, f.Write) })
}

func BenchmarkWriteAt(b *testing.B) {
	benchCalls(b, os.O_RDWR, func(f filetest.File, p []byte, off int64) (int, error) { return f.WriteAt(p, off) })
}

// BenchmarkClose opens a file and closes it.
func BenchmarkClose(b *testing.B) {
	name := filetest.Temp(b, bytes.Repeat([]byte{1}, 4<<10))
	for _, impl := range benchImpls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				f, err := impl.open(name, os.O_RDWR)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
