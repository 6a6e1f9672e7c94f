package blocks

import (
	"math/bits"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/evictions"
)

// A property of a file's pages takes 16 bits of each word: its shift is the bit of a block's first page. The pages have
// 4 KiB each, also if those of the system are larger.
const (
	PageBits  = 12
	BlockBits = 16
	PageSize  = 1 << PageBits
	BlockSize = 1 << BlockBits
)

// Mask returns the pages of block that the bytes from off to end intersect.
func Mask(block, off, end int64) uint64 {
	first, last := uint(0), uint(15)
	if at := off - block<<BlockBits; at > 0 {
		first = uint(at >> PageBits)
	}
	if at := end - 1 - block<<BlockBits; at < 1<<BlockBits {
		last = uint(at >> PageBits)
	}
	return (2<<(last&63) - 1) &^ (1<<(first&63) - 1)
}

// Run returns the number of pages in a row, from first on, whose bits are set in the word of their block.
func Run(word uint64, shift uint, first uint64) uint64 {
	return uint64(bits.TrailingZeros64(^(word >> (shift & 63) >> (first % 16))))
}

// Has reports whether all pages of n bytes at off have a property.
func (m *Map) Has(shift uint, off int64, n int) bool {
	for first, last := uint64(off)>>PageBits, uint64(off+int64(n)-1)>>PageBits; ; {
		w, end := m.Word(first/16), min(last, first|15)
		if w == nil || Run(w.Load(), shift, first) <= end-first {
			return false
		}
		if first = end + 1; end == last {
			return true
		}
	}
}

// Front is one look for most files that are read often: all pages before an offset have a property, in a generation.
//
//	bits  0–43  the offset
//	bits 44–63  the generation, modulo 2^20
type Front struct{ word atomic.Uint64 }

const frontMask = 1<<44 - 1

func frontGeneration() uint64 { return uint64(evictions.Generation()) << 44 }

// Before reports whether the pages up to end are known to be before the front.
func (f *Front) Before(end uint64) bool {
	w := f.word.Load() - frontGeneration()
	return w <= frontMask && end <= w
}

// Advance moves f to the first page that does not have the property.
func (m *Map) Advance(f *Front, shift uint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, pages := f.word.Load(), uint64(0)
	if w&^frontMask == frontGeneration() {
		pages = w & frontMask >> PageBits &^ 15
	}
	for run := uint64(16); run == 16; pages += run {
		run = 0
		if w := m.Word(pages / 16); w != nil {
			run = min(Run(w.Load(), shift, 0), 16)
		}
	}
	f.word.Store(pages<<PageBits | frontGeneration())
}

// Retreat is called once the pages from off on may not have the property any more.
func (m *Map) Retreat(f *Front, off uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.Before(off + 1) {
		f.word.Store(off | frontGeneration())
	}
}
