package lab

import (
	"io"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// measure times op, which makes so many calls and moves so many bytes in all, in its steady state.
// The figure is that of one call.
func measure(b *testing.B, calls, bytes int, op func() error) {
	b.Helper()
	w := warmUp(b, bytes, op)
	b.SetBytes(int64(bytes))
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	perCall(b, calls)
	w.report(b)
}

// perCall makes the figure of a row that of one call, if an iteration makes several.
func perCall(b *testing.B, calls int) {
	if calls > 1 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(calls), "ns/op")
	}
}

// eachSize runs fn for every size, with a file of that many bytes that all implementations share.
func eachSize(b *testing.B, sizes []int, fn func(b *testing.B, path string, size int)) {
	for _, size := range sizes {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) { fn(b, data(b, size), size) })
	}
}

// eachSizeToRead is eachSize for rows that do not write.
func eachSizeToRead(b *testing.B, sizes []int, fn func(b *testing.B, path string, size int)) {
	for _, size := range sizes {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) { fn(b, dataToRead(b, size), size) })
	}
}

func rewind(f io.Seeker) error {
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
			return benchtest.Whole(total, nil, size)
		}
		if err != nil {
			return err
		}
	}
}

// readAtThrough reads size bytes of f in blocks.
func readAtThrough(f io.ReaderAt, buf []byte, size int) error {
	for off := 0; off < size; off += len(buf) {
		want := min(len(buf), size-off)
		if n, err := f.ReadAt(buf, int64(off)); n != want {
			return benchtest.Whole(n, err, want)
		}
	}
	return nil
}

// writeAtThrough writes size bytes of f in blocks.
func writeAtThrough(f io.WriterAt, p []byte, size int) error {
	for off := 0; off < size; off += len(p) {
		if n, err := f.WriteAt(p, int64(off)); n != len(p) {
			return benchtest.Whole(n, err, len(p))
		}
	}
	return nil
}
