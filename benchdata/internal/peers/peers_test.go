// Package peers has the benchmarks that rust/ has for the crates mmap-io and memmap2, as rows of the
// same names. It is nothing but benchmarks: "make bench-peers" runs them in turns with those in
// Rust, and by hand they are
//
//	go -C benchdata test ./internal/peers -run '^$' -bench Walk
//
// A name is Walk/window=4KB/impl=mmapfile. None of the rows measures os.File.
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

const fileSize = 16 * benchtest.MB // in rows that do not vary it

var (
	sizes   = []int{benchtest.MB, fileSize, 256 * benchtest.MB}
	lengths = []int{64, 256, 4 * benchtest.KB, 64 * benchtest.KB}
)

// sink keeps the compiler from removing what is measured.
var sink atomic.Uint64

// row is one row, over a file of size bytes in memory, none of them zero. prepare returns what is measured.
func row(b *testing.B, key string, size, flag int, prepare func(f *mmapfile.File) func() error) {
	b.Run(key, func(b *testing.B) { measure(b, size, mmapfile.Options{}, flag, prepare) })
}

// measure has the file made in one write, as the peers do. The size of the writes decides how large the folios of the
// page cache are, and what a page costs.
func measure(b *testing.B, size int, opt mmapfile.Options, flag int, prepare func(f *mmapfile.File) func() error) {
	path := filepath.Join(benchtest.TempDir(b), "data")
	if err := os.WriteFile(path, benchtest.Content(size), 0o644); err != nil {
		b.Fatal(err)
	}
	f, err := opt.OpenFile(path, flag, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	p := f.Bytes()
	if p == nil {
		b.Skip("cannot be mapped")
	}
	if err := f.Sync(); err != nil { // so that it is not written back during the benchmark
		b.Fatal(err)
	}
	sink.Add(stride(p))
	if flag == os.O_RDONLY { // so that reads copy from the mapping from the first call on
		if err := f.Advise(0, int64(size), mmapfile.PopulateRead); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			b.Fatal(err)
		}
	}
	op := prepare(f)
	b.Run("impl=mmapfile", func(b *testing.B) {
		for b.Loop() {
			if err := op(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func sizeKey(n int) string { return "size=" + benchtest.SizeName(n) }

// stride loads a byte of each page.
func stride(p []byte) (sum uint64) {
	for i := 0; i < len(p); i += 4096 {
		sum += uint64(p[i])
	}
	return sum
}

// chunks adds up what fn finds in the windows of a file.
func chunks(f *mmapfile.File, window int, fn func(p []byte) uint64) func() error {
	return func() error {
		sum := uint64(0)
		for c, err := range f.Chunks(window) {
			if err != nil {
				return err
			}
			sum += fn(c.Data)
		}
		sink.Store(sum)
		return nil
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{4 * benchtest.KB, 64 * benchtest.KB} {
		walk(b, n, os.O_RDONLY)
	}
}

func BenchmarkWalkWritable(b *testing.B) { walk(b, 4*benchtest.KB, os.O_RDWR) }

func walk(b *testing.B, n, flag int) {
	row(b, "window="+benchtest.SizeName(n), fileSize, flag, func(f *mmapfile.File) func() error {
		return chunks(f, n, func(p []byte) uint64 { return uint64(p[0]) })
	})
}

func BenchmarkStride(b *testing.B) {
	for _, size := range sizes {
		row(b, sizeKey(size), size, os.O_RDONLY, func(f *mmapfile.File) func() error {
			return func() error {
				return f.View(0, int64(size), func(p []byte) error {
					sink.Store(stride(p))
					return nil
				})
			}
		})
	}
}

func BenchmarkSumBytes(b *testing.B) {
	for _, size := range sizes {
		row(b, sizeKey(size), size, os.O_RDONLY, func(f *mmapfile.File) func() error { return chunks(f, 64*benchtest.KB, sumBytes) })
	}
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
	for _, size := range sizes {
		row(b, sizeKey(size), size, os.O_RDONLY, func(f *mmapfile.File) func() error {
			buf := benchtest.Buffer(size)
			return func() error {
				n, err := f.ReadAt(buf, 0)
				return benchtest.Whole(n, err, size)
			}
		})
	}
}

// anywhere calls what use returns with offsets at which n bytes begin, those that the peers use (xorshift64).
func anywhere(b *testing.B, use func(f *mmapfile.File, n int64) func(off int64) error) {
	for _, n := range lengths {
		row(b, sizeKey(n), fileSize, os.O_RDONLY, func(f *mmapfile.File) func() error {
			x, op := uint64(0xC0FFEE), use(f, int64(n))
			return func() error {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				return op(int64(x % uint64(fileSize-n+1)))
			}
		})
	}
}

func BenchmarkRandomRead(b *testing.B) {
	anywhere(b, func(f *mmapfile.File, n int64) func(off int64) error {
		buf := make([]byte, n)
		return func(off int64) error {
			_, err := f.ReadAt(buf, off)
			return err
		}
	})
}

// BenchmarkRandomWindow takes slices without a guard, as the peers do. BenchmarkRandomView has guarded ones.
func BenchmarkRandomWindow(b *testing.B) {
	anywhere(b, func(f *mmapfile.File, n int64) func(off int64) error {
		all, sum := f.Bytes(), uint64(0)
		return func(off int64) error {
			sum += uint64(all[off : off+n][0])
			return nil
		}
	})
}

func BenchmarkRandomView(b *testing.B) {
	anywhere(b, func(f *mmapfile.File, n int64) func(off int64) error {
		sum := uint64(0)
		first := func(p []byte) error {
			sum += uint64(p[0])
			return nil
		}
		return func(off int64) error { return f.View(off, n, first) }
	})
}

func BenchmarkTouchPages(b *testing.B) {
	row(b, sizeKey(benchtest.GB), benchtest.GB, os.O_RDONLY, func(f *mmapfile.File) func() error {
		return func() error { return f.Advise(0, benchtest.GB, mmapfile.PopulateRead) }
	})
}

func BenchmarkSyncRange(b *testing.B) {
	for _, n := range []int{64, 4 * benchtest.KB} {
		row(b, sizeKey(n), 64*benchtest.KB, os.O_RDWR, func(f *mmapfile.File) func() error {
			return func() error {
				if _, err := f.WriteAt(benchtest.Content(n), 0); err != nil {
					return err
				}
				return f.SyncRange(0, int64(n))
			}
		})
	}
}

func BenchmarkAtomicAdd(b *testing.B) {
	for _, n := range []int{1, 2} {
		row(b, fmt.Sprint("goroutines=", n), 64, os.O_RDWR, func(f *mmapfile.File) func() error {
			return func() error {
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
			}
		})
	}
}

func BenchmarkWritePolicy(b *testing.B) {
	const size, piece = 4 * benchtest.MB, 64 * benchtest.KB
	for _, p := range []struct {
		name   string
		policy mmapfile.FlushPolicy
	}{{"none", mmapfile.FlushPolicy{}}, {"64KB", mmapfile.FlushPolicy{Bytes: piece}}, {"10ms", mmapfile.FlushPolicy{Interval: 10 * time.Millisecond}}} {
		b.Run("policy="+p.name, func(b *testing.B) {
			measure(b, size, mmapfile.Options{Flush: p.policy}, os.O_RDWR, func(f *mmapfile.File) func() error {
				return func() error {
					for off := int64(0); off < size; off += piece {
						if _, err := f.WriteAt(benchtest.Content(piece), off); err != nil {
							return err
						}
					}
					return nil
				}
			})
		})
	}
}

func BenchmarkGrow(b *testing.B) {
	measure(b, benchtest.MB, mmapfile.Options{}, os.O_RDWR, func(f *mmapfile.File) func() error {
		return func() error { return errors.Join(f.Truncate(8*benchtest.MB), f.Truncate(benchtest.MB)) }
	})
}
