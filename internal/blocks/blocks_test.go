package blocks

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/evictions"
)

// The words are as a Go map has them, but for groups that were dropped.
func TestMap_Model(t *testing.T) { // evictions are those of the process
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var m Map
		words, written, dropped := map[uint64]uint64{}, map[uint64]bool{}, 0
		for op := range 5000 {
			block := r.Uint64N(1 << (3 + r.IntN(20)))
			switch k := r.IntN(100); {
			case k < 60:
				set := uint64(1) << r.IntN(64)
				if first := block / groupBlocks * groupBlocks; m.Word(block) == nil {
					for at := first; at < first+groupBlocks; at++ {
						if words[at] != 0 {
							dropped++
						}
						delete(words, at)
					}
				}
				w, _ := m.Add(block)
				if had := w.Load(); had != words[block] {
					t.Fatalf("seed %d, operation %d: the word of block %d is %x, want %x", seed, op, block, had, words[block])
				}
				w.Or(set)
				words[block] = w.Load()
			case k < 70 && m.Word(block) != nil:
				m.Written(block)
				written[block] = true
			case k < 71:
				end, mask := block+r.Uint64N(100), r.Uint64()
				m.ClearWritten(mask, block, end)
				for at := range written {
					if block <= at && at < end {
						if words[at] != 0 {
							words[at] &^= mask
						}
						delete(written, at)
					}
				}
			case k == 71 && r.IntN(20) == 0:
				cleared := uint64(0)
				for at := range words {
					if at >= block {
						if m.Word(at) != nil { // else it was dropped
							cleared |= words[at]
						}
						delete(words, at)
					}
				}
				for at := range written {
					if at >= block {
						delete(written, at)
					}
				}
				if got := m.Forget(block); got != cleared {
					t.Fatalf("seed %d, operation %d: bits %x are forgotten, want %x", seed, op, got, cleared)
				}
			case k == 72 && r.IntN(20) == 0:
				evictions.Evict()
				clear(words)
				clear(written)
			default:
				if w := m.Word(block); w != nil && w.Load() != words[block] {
					t.Fatalf("seed %d, operation %d: the word of block %d is %x, want %x", seed, op, block, w.Load(), words[block])
				}
			}
		}
		if dropped > 1000 {
			t.Errorf("seed %d: %d words were dropped", seed, dropped)
		}
	}
}

// A block at a large index takes as much memory as the first one.
func TestMap_LargeBlocks(t *testing.T) {
	t.Parallel()
	var m Map
	blocks := []uint64{0, 8, 1 << 20, 1 << 31, 1<<47 - 1}
	for i, block := range blocks {
		m.Add(block)
		for _, other := range blocks[i+1:] {
			if m.Word(other) != nil {
				t.Errorf("block %d was added, and there is block %d", block, other)
			}
		}
	}
	if got := m.Places(); got > placesMin {
		t.Errorf("%d places for %d groups", got, len(blocks))
	}
}

// All blocks of a huge file take little memory, whatever their distance.
func TestMap_HugeFile(t *testing.T) {
	t.Parallel()
	const groups = 2 * placesMax
	for _, distance := range []uint64{groupBlocks, 1 << 14, 3 << 11} {
		var m Map
		for i := range uint64(groups) {
			if m.Add(i * distance); m.Word(i*distance) == nil {
				t.Fatalf("there is no block %d", i*distance)
			}
			if got := m.Places(); got > max(placesMin, 4*int(i+1)) || got > placesMax {
				t.Fatalf("%d places for %d groups", got, i+1)
			}
		}
	}
	var m Map
	const few = 1024
	for i := range uint64(few) {
		m.Add(i << 14)
	}
	found := 0
	for i := range uint64(few) {
		if m.Word(i<<14) != nil {
			found++
		}
	}
	if found < few*9/10 {
		t.Errorf("%d of %d blocks are found again", found, few)
	}
}

// Blocks that are used in turns do not drop each other, wherever they are.
func TestMap_InTurns(t *testing.T) {
	t.Parallel()
	for distance := uint64(1); distance < 1<<20; distance += 1 + distance/64 {
		var m Map
		lost := 0
		for i := range uint64(100) {
			block := i % 2 * distance
			if i >= 2 && m.Word(block) == nil {
				lost++
			}
			m.Add(block)
		}
		if lost > 2 {
			t.Errorf("blocks 0 and %d are lost %d times", distance, lost)
		}
	}
}

// Goroutines that add blocks find the same words.
func TestMap_Concurrent(t *testing.T) {
	t.Parallel()
	var (
		m  Map
		wg sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for block := range uint64(2000) {
				m.Add(block)
				m.Written(block)
				m.ClearWritten(1, block, block+100)
			}
		})
	}
	wg.Wait()
	for block := range uint64(2000) {
		if m.Word(block) == nil {
			t.Fatalf("there is no block %d", block)
		}
	}
}

// What ClearWritten has to look at are the blocks that were written, however large the table is.
func TestClearWritten_Few(t *testing.T) {
	t.Parallel()
	var m Map
	for i := range uint64(10_000) {
		m.Add(i * groupBlocks)
	}
	for i := range uint64(10) {
		m.Written(i * groupBlocks)
	}
	if n := len(m.written); n != 10 {
		t.Errorf("%d of 10 blocks are to be looked at", n)
	}
	if m.ClearWritten(1, 0, 8*groupBlocks+1); len(m.written) != 1 {
		t.Errorf("%d blocks are left, want the last one", len(m.written))
	}
	if m.Forget(groupBlocks); len(m.written) != 0 {
		t.Errorf("%d blocks are left, want none", len(m.written))
	}
	for range 3 * writtenMax {
		m.Written(0)
	}
	if n := len(m.written); n > writtenMax {
		t.Errorf("%d blocks are to be looked at", n)
	}
}

// An eviction makes void what ClearWritten has to look at: it is not kept for a file that is never synced.
func TestWritten_Evicted(t *testing.T) {
	var m Map
	for range 100 {
		evictions.Evict()
		for block := range uint64(20) {
			m.Add(block)
			m.Written(block)
		}
		if n := len(m.written); n != 20 {
			t.Fatalf("%d blocks are to be looked at, want 20", n)
		}
	}
}

// A flag stays while the table grows, until ClearWritten of all blocks, and says little of others.
func TestFlags(t *testing.T) {
	for _, step := range []uint64{1, 5, groupBlocks, 3 * groupBlocks} {
		r := rand.New(rand.NewPCG(step, 0))
		var m Map
		flags, without := map[uint64]Flag{}, 0
		for i := range uint64(4000) {
			block := i * step
			m.Add(block)
			if m.Flags(block) != 0 {
				without++
			}
			for _, f := range []Flag{ForReads, ForWrites, Due} {
				if r.IntN(8) == 0 {
					m.Flag(f, block)
					m.Written(block)
					flags[block] |= f
				}
			}
			if r.IntN(1000) == 0 {
				m.Written(block)
				m.ClearWritten(0, r.Uint64N(2), block) // not of all
				for block := range flags {
					m.Written(block)
				}
			}
			if i%100 == 0 {
				for block, want := range flags {
					w := m.Word(block)
					if got := m.Flags(block); got&want != want && w != nil { // else its group was dropped
						t.Fatalf("step %d: after %d blocks, block %d has the flags %x, want %x", step, i, block, got, want)
					}
					for _, f := range []Flag{ForReads, ForWrites, Due} {
						if flags, found := m.Flagged(f, block); flags != m.Flags(block) || want&f != 0 && found != w || flags&f == 0 && found != nil {
							t.Fatalf("step %d: after %d blocks, block %d has the flags %x and the word %p, want %x and %p", step, i, block, flags, found, want, w)
						}
					}
				}
			}
		}
		if without > 400 {
			t.Errorf("step %d: %d of 4,000 blocks have flags that were not set", step, without)
		}
		m.ClearWritten(0, 0, math.MaxUint64)
		for block := range flags {
			if got := m.Flags(block); got&(ForWrites|Due) != 0 {
				t.Fatalf("step %d: block %d has the flags %x", step, block, got)
			}
		}
	}
}

// A larger table has all groups of the smaller one, also those that have their second places there.
func TestGrow_KeepsAll(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		var m Map
		r := rand.New(rand.NewPCG(seed, 0))
		for m.Places() < 1<<10 {
			m.Add(r.Uint64N(1<<30) &^ (1<<r.Uint64N(20) - 1))
			before := m.table.Load()
			after := before.grow()
			for i := range before.places {
				if group, ok := before.places[i].index(); ok && after.find(group) == nil {
					t.Fatalf("seed %d: a table of %d places lacks group %d", seed, len(after.places), group)
				}
			}
		}
	}
}
