package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// peerFile opens a file of size bytes in memory, none of them zero.
func peerFile(b *testing.B, size, flag int) *mmapfile.File {
	b.Helper()
	f, err := mmapfile.OpenFile(peerData(b, size), flag, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	p := f.Bytes()
	if p == nil {
		b.Skip("cannot be mapped")
	}
	if err := f.Sync(); err != nil { // so that it is not written back during the benchmark
		b.Fatal(err)
	}
	peerSink.Add(stride(p))
	if flag == os.O_RDONLY { // so that reads copy from the mapping from the first call on
		if err := f.Advise(0, int64(size), mmapfile.PopulateRead); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			b.Fatal(err)
		}
	}
	return f
}

// peerData makes the file in one write, as the peers do. The size of the writes decides how large
// the folios of the page cache are, and what a page costs.
func peerData(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(benchtest.TempDir(b), "data")
	if err := os.WriteFile(path, benchtest.Content(size), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

// peerSink keeps the compiler from removing what is measured.
var peerSink atomic.Uint64

// peer measures one row. The rows in Rust have other names for the implementation.
func peer(b *testing.B, bytes int, op func() error) {
	b.Helper()
	b.Run("impl=mmapfile", func(b *testing.B) {
		b.SetBytes(int64(bytes))
		for b.Loop() {
			if err := op(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// stride loads a byte of each page.
func stride(p []byte) (sum uint64) {
	for i := 0; i < len(p); i += 4096 {
		sum += uint64(p[i])
	}
	return sum
}

func BenchmarkWalk(b *testing.B)         { walkWindows(b, os.O_RDONLY, 4*benchtest.KB, 64*benchtest.KB) }
func BenchmarkWalkWritable(b *testing.B) { walkWindows(b, os.O_RDWR, 4*benchtest.KB) }

func walkWindows(b *testing.B, flag int, windows ...int) {
	for _, n := range windows {
		b.Run("window="+benchtest.SizeName(n), func(b *testing.B) {
			f := peerFile(b, 16*benchtest.MB, flag)
			peer(b, 16*benchtest.MB, func() error {
				sum := uint64(0)
				for c, err := range f.Chunks(n) {
					if err != nil {
						return err
					}
					p := c.Data
					sum += uint64(p[0])
				}
				peerSink.Store(sum)
				return nil
			})
		})
	}
}

func eachPeerSize(b *testing.B, fn func(b *testing.B, f *mmapfile.File, size int)) {
	for _, size := range []int{benchtest.MB, 16 * benchtest.MB, 256 * benchtest.MB} {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) { fn(b, peerFile(b, size, os.O_RDONLY), size) })
	}
}

func BenchmarkStride(b *testing.B) {
	eachPeerSize(b, func(b *testing.B, f *mmapfile.File, size int) {
		peer(b, size, func() error {
			return f.View(0, int64(size), func(p []byte) error {
				peerSink.Store(stride(p))
				return nil
			})
		})
	})
}

func BenchmarkSumBytes(b *testing.B) {
	eachPeerSize(b, func(b *testing.B, f *mmapfile.File, size int) {
		peer(b, size, func() error {
			sum := uint64(0)
			for c, err := range f.Chunks(64 * benchtest.KB) {
				if err != nil {
					return err
				}
				p := c.Data
				sum += sumBytes(p)
			}
			peerSink.Store(sum)
			return nil
		})
	})
}

// sumBytes adds eight bytes at a time, those at even and at odd offsets, in lanes of 16 bits.
func sumBytes(p []byte) (sum uint64) {
	const even = 0x00ff00ff00ff00ff
	for len(p) >= 32 {
		part := p[:min(len(p)&^31, 32*64)] // 128 additions of two bytes fit into a lane
		p = p[len(part):]
		var a, b uint64
		for ; len(part) >= 32; part = part[32:] {
			w, x := binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[8:])
			y, z := binary.LittleEndian.Uint64(part[16:]), binary.LittleEndian.Uint64(part[24:])
			a += w&even + w>>8&even + x&even + x>>8&even
			b += y&even + y>>8&even + z&even + z>>8&even
		}
		for _, lanes := range [...]uint64{a, b} {
			sum += lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48
		}
	}
	for _, c := range p {
		sum += uint64(c)
	}
	return sum
}

func BenchmarkReadInto(b *testing.B) {
	eachPeerSize(b, func(b *testing.B, f *mmapfile.File, size int) {
		buf := benchtest.Buffer(size)
		peer(b, size, func() error {
			n, err := f.ReadAt(buf, 0)
			return benchtest.Whole(n, err, size)
		})
	})
}

// randomOffsets returns the offsets up to last that the peers use (xorshift64).
func randomOffsets(last int) func() int64 {
	x := uint64(0xC0FFEE)
	return func() int64 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return int64(x % uint64(last+1))
	}
}

var randomSizes = []int{64, 256, 4 * benchtest.KB, 64 * benchtest.KB}

func BenchmarkRandomRead(b *testing.B) {
	for _, size := range randomSizes {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) {
			f, random := peerFile(b, 16*benchtest.MB, os.O_RDONLY), randomOffsets(16*benchtest.MB-size)
			buf := make([]byte, size)
			peer(b, size, func() error {
				_, err := f.ReadAt(buf, random())
				return err
			})
		})
	}
}

// BenchmarkRandomWindow takes slices without a guard, as the peers do. BenchmarkRandomView has guarded ones.
func BenchmarkRandomWindow(b *testing.B) {
	benchRandom(b, func(f *mmapfile.File) func(off, n int64, fn func(p []byte) error) error {
		all := f.Bytes()
		return func(off, n int64, fn func(p []byte) error) error { return fn(all[off : off+n]) }
	})
}

func BenchmarkRandomView(b *testing.B) {
	benchRandom(b, func(f *mmapfile.File) func(off, n int64, fn func(p []byte) error) error { return f.View })
}

func benchRandom(b *testing.B, opener func(f *mmapfile.File) func(off, n int64, fn func(p []byte) error) error) {
	for _, size := range randomSizes {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) {
			f, random := peerFile(b, 16*benchtest.MB, os.O_RDONLY), randomOffsets(16*benchtest.MB-size)
			view, sum := opener(f), uint64(0)
			first := func(p []byte) error {
				sum += uint64(p[0])
				return nil
			}
			peer(b, 0, func() error { return view(random(), int64(size), first) })
			peerSink.Store(sum)
		})
	}
}

func BenchmarkTouchPages(b *testing.B) {
	b.Run("size="+benchtest.SizeName(benchtest.GB), func(b *testing.B) {
		f := peerFile(b, benchtest.GB, os.O_RDONLY)
		peer(b, benchtest.GB, func() error { return f.Advise(0, benchtest.GB, mmapfile.PopulateRead) })
	})
}

func BenchmarkSyncRange(b *testing.B) {
	for _, size := range []int{64, 4 * benchtest.KB} {
		b.Run("size="+benchtest.SizeName(size), func(b *testing.B) {
			f, data := peerFile(b, 64*benchtest.KB, os.O_RDWR), benchtest.Content(size)
			peer(b, size, func() error {
				if _, err := f.WriteAt(data, 0); err != nil {
					return err
				}
				return f.SyncRange(0, int64(size))
			})
		})
	}
}

func BenchmarkAtomicAdd(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprint("goroutines=", n), func(b *testing.B) {
			f := peerFile(b, 64, os.O_RDWR)
			peer(b, 0, func() error {
				count, err := mmapfile.At[atomic.Uint64](f, 0)
				if err != nil {
					return err
				}
				var all sync.WaitGroup
				for range n {
					all.Go(func() {
						for range 10_000 {
							count.Add(1)
						}
					})
				}
				all.Wait()
				return nil
			})
		})
	}
}

func BenchmarkWritePolicy(b *testing.B) {
	for _, p := range []struct {
		name   string
		policy mmapfile.FlushPolicy
	}{
		{"none", mmapfile.FlushPolicy{}}, {"64KB", mmapfile.FlushPolicy{Bytes: 64 * benchtest.KB}},
		{"10ms", mmapfile.FlushPolicy{Interval: 10 * time.Millisecond}},
	} {
		b.Run("policy="+p.name, func(b *testing.B) {
			f, err := mmapfile.Options{Flush: p.policy}.OpenFile(peerData(b, 4*benchtest.MB), os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			data := benchtest.Content(64 * benchtest.KB)
			peer(b, 4*benchtest.MB, func() error {
				for off := int64(0); off < 4*benchtest.MB; off += 64 * benchtest.KB {
					if _, err := f.WriteAt(data, off); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

func BenchmarkGrow(b *testing.B) {
	f := peerFile(b, benchtest.MB, os.O_RDWR)
	peer(b, 0, func() error {
		if err := f.Truncate(8 * benchtest.MB); err != nil {
			return err
		}
		return f.Truncate(benchtest.MB)
	})
}
