package blocks

import (
	"math/rand/v2"
	"testing"

	"go.dw1.io/mmapfile/internal/evictions"
)

// Has and Mask are as a set of pages has them, and all pages before the front have the property.
func TestFront_Model(t *testing.T) {
	const shift, size = 48, 40 * BlockSize
	moved := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m Map
		var f Front
		pages := map[int64]bool{}
		for op := range 5000 {
			off := r.Int64N(size)
			n := 1 + r.Int64N(min(size-off, 1<<(1+r.IntN(19))))
			switch k := r.IntN(100); {
			case k < 20:
				for block := off >> BlockBits; block<<BlockBits < off+n; block++ {
					w, _ := m.Add(uint64(block))
					w.Or(Mask(block, off, off+n) << shift)
				}
				for page := off >> PageBits; page<<PageBits < off+n; page++ {
					pages[page] = true
				}
				m.Advance(&f, shift)
			case k == 20 && r.IntN(20) == 0:
				m.Forget(uint64(off) >> BlockBits)
				for page := range pages {
					if page/16 >= off>>BlockBits {
						delete(pages, page)
					}
				}
				m.Retreat(&f, uint64(off)>>BlockBits<<BlockBits)
			case k == 21 && r.IntN(40) == 0:
				evictions.Evict()
				clear(pages)
			}
			want, first := true, off>>PageBits
			for page := first; page<<PageBits < off+n; page++ {
				want = want && pages[page]
			}
			if got := m.Has(shift, off, int(n)); got != want {
				t.Fatalf("seed %d, operation %d: Has of %d bytes at %d is %v", seed, op, n, off, got)
			}
			if f.Before(uint64(off + n)) {
				moved++
				for page := range (off + n + PageSize - 1) >> PageBits {
					if !pages[page] {
						t.Fatalf("seed %d, operation %d: page %d is before the front, up to %d", seed, op, page, off+n)
					}
				}
			}
		}
	}
	if moved < 5000 {
		t.Errorf("the front told something %d times only", moved)
	}
}
