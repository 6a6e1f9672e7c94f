package eventlog_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
)

var benchSizes = []int{64, 1 << 10, 16 << 10}

// benchEvents is as many of size bytes as are 10,000 of 1 KiB.
func benchEvents(size int) int { return 10_000 << 10 / size }

func perEvent(b *testing.B, events, size int) {
	b.SetBytes(int64(events * size))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

func benchOpen(b *testing.B, o eventlog.Options) *eventlog.Log {
	b.Helper()
	l, err := eventlog.Open(filepath.Join(b.TempDir(), "log"), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

func appendAll(b *testing.B, l *eventlog.Log, p []byte, n int) {
	for range n {
		if _, err := l.Append(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend stores into memory that an earlier pass has warmed.
func BenchmarkAppend(b *testing.B) {
	for _, size := range benchSizes {
		p, n := make([]byte, size), benchEvents(size)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := benchOpen(b, eventlog.Options{})
			appendAll(b, l, p, n)
			for b.Loop() {
				eventlog.Rewind(l)
				appendAll(b, l, p, n)
			}
			perEvent(b, n, size)
		})
		b.Run(fmt.Sprintf("bare/size=%d", size), func(b *testing.B) {
			f, err := mmapfile.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_RDWR|os.O_CREATE, 0o600, int64(24+n*(16+size)))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			mem := f.Bytes()
			bareLoop(mem, p, n)
			for b.Loop() {
				bareLoop(mem, p, n)
			}
			perEvent(b, n, size)
		})
		b.Run(fmt.Sprintf("limit/size=%d", size), func(b *testing.B) {
			dst := make([]byte, n*size)
			for b.Loop() {
				limitLoop(dst, p, n)
			}
			perEvent(b, n, size)
		})
	}
}

// bareLoop is the published design: stores into a mapping, and no more.
func bareLoop(mem, p []byte, n int) {
	off := 24
	le := binary.LittleEndian
	for i := range n {
		h := mem[off : off+16]
		le.PutUint64(h, uint64(time.Now().UnixNano()))
		le.PutUint32(h[8:], uint32(len(p)))
		le.PutUint32(h[12:], crc32.ChecksumIEEE(p))
		copy(mem[off+16:], p)
		off += 16 + len(p)
		le.PutUint64(mem, uint64(off))
		le.PutUint64(mem[8:], uint64(i+1))
	}
}

// limitLoop is the copy, the checksum and the clock, and nothing else.
func limitLoop(dst, p []byte, n int) {
	for i := range n {
		limitSink += uint32(time.Now().UnixNano())
		limitSink += crc32.ChecksumIEEE(p)
		copy(dst[i*len(p):][:len(p)], p)
	}
}

var limitSink uint32 // so that nothing is left out

// BenchmarkFresh is the first pass over a new file.
func BenchmarkFresh(b *testing.B) {
	for _, size := range benchSizes {
		p, n := make([]byte, size), benchEvents(size)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := benchOpen(b, eventlog.Options{})
				b.StartTimer()
				appendAll(b, l, p, n)
				b.StopTimer()
				l.Close()
				b.StartTimer()
			}
			perEvent(b, n, size)
		})
		b.Run(fmt.Sprintf("bufio/size=%d", size), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f, err := os.Create(filepath.Join(b.TempDir(), "log"))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				w := bufio.NewWriter(f)
				var h [16]byte
				for range n {
					binary.LittleEndian.PutUint64(h[:], uint64(time.Now().UnixNano()))
					binary.LittleEndian.PutUint32(h[8:], uint32(len(p)))
					binary.LittleEndian.PutUint32(h[12:], crc32.ChecksumIEEE(p))
					w.Write(h[:])
					w.Write(p)
				}
				w.Flush()
				b.StopTimer()
				f.Close()
				b.StartTimer()
			}
			perEvent(b, n, size)
		})
	}
}

// BenchmarkTwo is what two goroutines append in total.
func BenchmarkTwo(b *testing.B) {
	for _, size := range benchSizes {
		p, n := make([]byte, size), benchEvents(size)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := benchOpen(b, eventlog.Options{})
			appendAll(b, l, p, n)
			done := make(chan struct{})
			for b.Loop() {
				eventlog.Rewind(l)
				go func() {
					appendAll(b, l, p, n/2)
					done <- struct{}{}
				}()
				appendAll(b, l, p, n-n/2)
				<-done
			}
			perEvent(b, n, size)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range benchSizes {
		p, n := make([]byte, size), benchEvents(size)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := benchOpen(b, eventlog.Options{})
			appendAll(b, l, p, n)
			for b.Loop() {
				for _, err := range l.Events(0) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			perEvent(b, n, size)
		})
		b.Run(fmt.Sprintf("crc32/size=%d", size), func(b *testing.B) {
			mem := make([]byte, n*size)
			var sink uint32
			for b.Loop() {
				for i := range n {
					sink += crc32.ChecksumIEEE(mem[i*size:][:size])
				}
			}
			_ = sink
			perEvent(b, n, size)
		})
	}
}
