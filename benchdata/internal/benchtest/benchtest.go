// Package benchtest has what the benchmarks of several packages share.
package benchtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// Sizes.
const (
	KB = 1 << 10
	MB = 1 << 20
	GB = 1 << 30
)

// SizeName is a size as it stands in the names of rows, like 64B or 10MB.
func SizeName(n int) string {
	switch {
	case n >= GB && n%GB == 0:
		return fmt.Sprintf("%dGB", n/GB)
	case n >= MB && n%MB == 0:
		return fmt.Sprintf("%dMB", n/MB)
	case n >= KB && n%KB == 0:
		return fmt.Sprintf("%dKB", n/KB)
	}
	return fmt.Sprintf("%dB", n)
}

// TempDir returns a directory for the files of b, in $BENCH_DIR if that is set.
func TempDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The rows share their memory: making and filling 1 GiB for each of them takes longer than they do.
var pattern, target []byte

// Content returns size bytes to write, none of them zero.
func Content(size int) []byte {
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

// Buffer returns size bytes to read into, written before.
func Buffer(size int) []byte {
	if len(target) < size {
		target = bytes.Repeat([]byte{1}, size)
	}
	return target[:size]
}

// Whole returns err, or an error if a call moved another number of bytes than want.
func Whole[N int | int64](n N, err error, want int) error {
	if err == nil && int64(n) != int64(want) {
		return fmt.Errorf("%d bytes, not %d", n, want)
	}
	return err
}

// Together runs fn on n goroutines, waits for all of them, and joins their errors.
func Together(n int, fn func(i int) error) error {
	failed := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { failed[i] = fn(i) })
	}
	running.Wait()
	return errors.Join(failed...)
}

// Random is a linear congruence, which costs a nanosecond: math/rand would be in the figures.
type Random uint64

// Below returns a number from 0 to n-1.
func (r *Random) Below(n int) int64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int64(uint64(*r>>32) * uint64(n) >> 32)
}
