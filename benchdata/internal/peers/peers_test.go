package peers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

const (
	kb = 1 << 10
	mb = 1 << 20
	gb = 1 << 30
)

func sizeName(n int) string {
	switch {
	case n%gb == 0:
		return fmt.Sprintf("%dGB", n/gb)
	case n%mb == 0:
		return fmt.Sprintf("%dMB", n/mb)
	case n%kb == 0:
		return fmt.Sprintf("%dKB", n/kb)
	}
	return fmt.Sprintf("%dB", n)
}

// tempDir returns a directory for the files of b, in $BENCH_DIR if that is set.
func tempDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-peers-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The rows share their memory: filling 1 GiB for each of them would take longer than they do.
var pattern, target []byte

// content returns size bytes to write, none of them zero.
func content(size int) []byte {
	if len(pattern) < size {
		const period = 1<<16 + 1 // odd, so that no two pages are alike
		p := make([]byte, size)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range min(size, period) {
			p[i] = byte(1 + r.IntN(255))
		}
		for n := period; n < size; n *= 2 {
			copy(p[n:], p[:n])
		}
		pattern = p
	}
	return pattern[:size]
}

// buffer returns size bytes to read into, written before.
func buffer(size int) []byte {
	if len(target) < size {
		target = bytes.Repeat([]byte{1}, size)
	}
	return target[:size]
}

// whole returns err, or an error if a call moved another number of bytes than want.
func whole(n int, err error, want int) error {
	if err == nil && n != want {
		return fmt.Errorf("%d bytes, not %d", n, want)
	}
	return err
}

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
	path := filepath.Join(tempDir(b), "data")
	if err := os.WriteFile(path, content(size), 0o644); err != nil {
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

func BenchmarkWalk(b *testing.B)         { walkWindows(b, os.O_RDONLY, 4*kb, 64*kb) }
func BenchmarkWalkWritable(b *testing.B) { walkWindows(b, os.O_RDWR, 4*kb) }

func walkWindows(b *testing.B, flag int, windows ...int) {
	for _, n := range windows {
		b.Run("window="+sizeName(n), func(b *testing.B) {
			f := peerFile(b, 16*mb, flag)
			peer(b, 16*mb, func() error {
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
	for _, size := range []int{mb, 16 * mb, 256 * mb} {
		b.Run("size="+sizeName(size), func(b *testing.B) { fn(b, peerFile(b, size, os.O_RDONLY), size) })
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
			for c, err := range f.Chunks(64 * kb) {
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
		buf := buffer(size)
		peer(b, size, func() error {
			n, err := f.ReadAt(buf, 0)
			return whole(n, err, size)
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

var randomSizes = []int{64, 256, 4 * kb, 64 * kb}

func BenchmarkRandomRead(b *testing.B) {
	for _, size := range randomSizes {
		b.Run("size="+sizeName(size), func(b *testing.B) {
			f, random := peerFile(b, 16*mb, os.O_RDONLY), randomOffsets(16*mb-size)
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
		b.Run("size="+sizeName(size), func(b *testing.B) {
			f, random := peerFile(b, 16*mb, os.O_RDONLY), randomOffsets(16*mb-size)
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
	b.Run("size="+sizeName(gb), func(b *testing.B) {
		f := peerFile(b, gb, os.O_RDONLY)
		peer(b, gb, func() error { return f.Advise(0, gb, mmapfile.PopulateRead) })
	})
}

func BenchmarkSyncRange(b *testing.B) {
	for _, size := range []int{64, 4 * kb} {
		b.Run("size="+sizeName(size), func(b *testing.B) {
			f, data := peerFile(b, 64*kb, os.O_RDWR), content(size)
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
					all.Add(1)
					go func() {
						defer all.Done()
						for range 10_000 {
							count.Add(1)
						}
					}()
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
		{"none", mmapfile.FlushPolicy{}}, {"64KB", mmapfile.FlushPolicy{Bytes: 64 * kb}},
		{"10ms", mmapfile.FlushPolicy{Interval: 10 * time.Millisecond}},
	} {
		b.Run("policy="+p.name, func(b *testing.B) {
			f, err := mmapfile.Options{Flush: p.policy}.OpenFile(peerData(b, 4*mb), os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			data := content(64 * kb)
			peer(b, 4*mb, func() error {
				for off := int64(0); off < 4*mb; off += 64 * kb {
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
	f := peerFile(b, mb, os.O_RDWR)
	peer(b, 0, func() error {
		if err := f.Truncate(8 * mb); err != nil {
			return err
		}
		return f.Truncate(mb)
	})
}
