// Package blocks keeps bits for the pages of a file: a block of 64 KiB has one word.
//
// The words of eight blocks stand side by side, and are a group with one key. That is a hash table, so that
// its size depends on what was read and not on its offsets. It holds nothing once the system has evicted pages:
// each generation has keys of its own.
package blocks

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/evictions"
)

const (
	groupBlocks = 8
	placesMin   = 64                      // places that a table may have with few groups: 5 KiB
	placesMax   = 1 << 16                 // and with many: 5 MiB, for 32 GiB
	writtenMax  = placesMax * groupBlocks // as many as a table may have
)

// Map finds the word of a block. The zero value is an empty Map. A change of the table may lose bits that are
// set meanwhile.
type Map struct {
	table atomic.Pointer[table]

	mu      sync.Mutex // guards the table, and what follows
	gen     uint32     // the generation of the groups
	used    int64      // groups
	end     uint64     // all groups are before it
	written []uint64   // blocks of which Written was told, and some that were dropped

	first struct { // most files need no other
		table
		keys  [1]atomic.Uint64
		flags [1]atomic.Uint32
		words [1]group
	}
}

// table has the groups. The keys stand side by side, so that a look for a group that has no place finds them in a
// cache, and so do the flags.
type table struct {
	keys  []atomic.Uint64 // of another generation is void
	flags []atomic.Uint32 // of the groups with that first place: a bit of each block for each Flag
	words []group
}

// A Flag says that the word of a block is worth a look: those of most blocks are not, and are in no cache of the processor.
// A block may have one without reason.
type Flag uint32

// A block has each flag groupBlocks bits after the one before.
const (
	ForReads  Flag = 1 << (groupBlocks * iota)
	ForWrites      // ClearWritten clears it if no other block is left to be cleared,
	Due            // and this one
)

type group [groupBlocks]atomic.Uint64

// key returns what the group with that index has as its key now.
func key(group uint64) uint64 { return (group + 1) ^ uint64(evictions.Generation())<<46 }

// group returns the index of the group at the place, and whether there is one.
func (t *table) group(at int) (group uint64, ok bool) {
	k := t.keys[at].Load() ^ key(0) ^ 1
	return k - 1, k != 0 && k>>46 == 0
}

func (t *table) free(at int) bool {
	_, ok := t.group(at)
	return !ok
}

// place returns the first place of a group. Those of a range have different ones if there are enough, and those at
// a regular distance mostly have.
func (t *table) place(group uint64) int {
	return int((group ^ group>>7 ^ group>>11) & uint64(len(t.keys)-1))
}

// second returns the place of a group whose first one is taken. So no two groups that are used in turns drop each other.
func (t *table) second(group uint64) int {
	const odd = 0x9E3779B97F4A7C15 // Knuth's multiplicative hash
	return int(group * odd >> 32 & uint64(len(t.keys)-1))
}

// find returns the place that a group has, or -1.
func (t *table) find(group uint64) int {
	k := key(group)
	if at := t.place(group); t.keys[at].Load() == k {
		return at
	}
	if at := t.second(group); t.keys[at].Load() == k {
		return at
	}
	return -1
}

// Word returns the word of a block, or nil if there is none.
func (m *Map) Word(block uint64) *atomic.Uint64 {
	if t := m.table.Load(); t != nil {
		if at := t.find(block / groupBlocks); at >= 0 {
			return &t.words[at][block%groupBlocks]
		}
	}
	return nil
}

// Add is Word, but makes the word if there is none. A group without a place drops another one. moved is the
// number of places whose words were moved to a larger table.
func (m *Map) Add(block uint64) (w *atomic.Uint64, moved int) {
	if w := m.Word(block); w != nil {
		return w, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.Word(block); w != nil {
		return w, 0
	}
	t, group := m.table.Load(), block/groupBlocks
	if t == nil {
		first := &m.first
		t = &first.table
		t.keys, t.flags, t.words = first.keys[:], first.flags[:], first.words[:]
	}
	if gen := evictions.Generation(); gen != m.gen {
		m.gen, m.used, m.written = gen, 0, nil
	}
	m.used++
	m.end = max(m.end, group+1)
	for !t.free(t.place(group)) && !t.free(t.second(group)) && len(t.keys) < min(max(placesMin, 2*int(m.used)), placesMax) {
		moved += len(t.keys)
		t = t.double()
	}
	at := t.place(group)
	if second := t.second(group); !t.free(at) && t.free(second) {
		at = second
	}
	t.keys[at].Store(0)
	for i := range t.words[at] {
		t.words[at][i].Store(0)
	}
	t.keys[at].Store(key(group))
	m.table.Store(t)
	return &t.words[at][block%groupBlocks], moved
}

// double returns a table with the groups of t, and twice as many places.
func (t *table) double() *table {
	n := 2 * len(t.keys)
	next := &table{make([]atomic.Uint64, n), make([]atomic.Uint32, n), make([]group, n)}
	for from := range t.keys {
		if group, ok := t.group(from); ok { // two groups of different places stay so
			to := next.place(group)
			if t.place(group) != from {
				to = next.second(group)
			}
			for i := range t.words[from] {
				next.words[to][i].Store(t.words[from][i].Load())
			}
			next.keys[to].Store(t.keys[from].Load())
			next.flags[next.place(group)].Or(t.flags[t.place(group)].Load())
		}
	}
	return next
}

// Flag sets a flag of a block, which has a word.
func (m *Map) Flag(f Flag, block uint64) {
	if m.Flags(block)&f == 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.flags(block).Or(uint32(f) << (block % groupBlocks))
	}
}

// Flags returns the flags that a block may have.
func (m *Map) Flags(block uint64) Flag {
	if m.table.Load() == nil {
		return 0
	}
	return Flag(m.flags(block).Load()>>(block%groupBlocks)) & (ForReads | ForWrites | Due)
}

// Flagged is Flags, and the word of the block if it has f and a word, or nil: most calls of a file that is mapped want both.
func (m *Map) Flagged(f Flag, block uint64) (flags Flag, w *atomic.Uint64) {
	t := m.table.Load()
	if t == nil {
		return 0, nil
	}
	group := block / groupBlocks
	at := t.place(group)
	flags = Flag(t.flags[at].Load()>>(block%groupBlocks)) & (ForReads | ForWrites | Due)
	switch {
	case flags&f == 0:
	case t.keys[at].Load() == key(group):
		w = &t.words[at][block%groupBlocks]
	default:
		w = m.Word(block)
	}
	return flags, w
}

// flags returns the flags of a block, and of others. There is a table.
func (m *Map) flags(block uint64) *atomic.Uint32 {
	t := m.table.Load()
	return &t.flags[t.place(block/groupBlocks)]
}

// Places returns the number of places of the table. It is for tests.
func (m *Map) Places() int {
	if t := m.table.Load(); t != nil {
		return len(t.keys)
	}
	return 0
}

// Written says that the word of the block has bits which ClearWritten clears, where it had none.
func (m *Map) Written(block uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.written) == writtenMax { // many were dropped
		m.clearWritten(math.MaxUint64, 0, math.MaxUint64)
	}
	m.written = append(m.written, block)
}

// Forget clears the words of all blocks from first on, and returns which bits were set. It looks at groups or places,
// whatever are fewer.
func (m *Map) Forget(first uint64) (cleared uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table.Load()
	if t == nil {
		return 0
	}
	if from := first / groupBlocks; m.end < from+uint64(len(t.keys)) {
		for group := from; group < m.end; group++ {
			cleared |= t.forget(t.find(group), first)
		}
	} else {
		for at := range t.keys {
			cleared |= t.forget(at, first)
		}
	}
	m.clearWritten(0, first, math.MaxUint64)
	return cleared
}

// forget is Forget for the group at a place, which may have none, or be none.
func (t *table) forget(at int, first uint64) (cleared uint64) {
	if at < 0 {
		return 0
	}
	if group, ok := t.group(at); ok {
		for i := range t.words[at] {
			if w := &t.words[at][i]; group*groupBlocks+uint64(i) >= first && w.Load() != 0 {
				cleared |= w.Swap(0)
			}
		}
	}
	return cleared
}

// ClearWritten clears the bits of mask in the words of the blocks from first on, up to end, of which Written was told. It
// looks at no others, since a program may write little between one Sync and the next.
func (m *Map) ClearWritten(mask, first, end uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clearWritten(mask, first, end)
}

func (m *Map) clearWritten(mask, first, end uint64) {
	outside := func(block uint64) bool { return block < first || block >= end }
	all := !slices.ContainsFunc(m.written, outside)
	for _, block := range m.written {
		if outside(block) {
			continue
		}
		if all { // else that of another block may be lost; before the word, which a call may change meanwhile
			m.flags(block).And(^uint32((ForWrites | Due) << (block % groupBlocks)))
		}
		if w := m.Word(block); w != nil {
			w.And(^mask)
		}
	}
	m.written = slices.DeleteFunc(m.written, func(block uint64) bool { return !outside(block) })
}
