// Package blocks keeps bits for the pages of a file: a block of 64 KiB has one word.
//
// The words of eight blocks stand side by side, and are a group with one key. A hash table has the keys, so that
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
	placesMin   = 64                      // places that a table may have with few groups: 1 KiB
	placesMax   = 1 << 16                 // and with many: 1 MiB, and groups for 32 GiB in 4 MiB
	groupsMax   = 64                      // groups that are allocated at once: 4 KiB
	writtenMax  = placesMax * groupBlocks // as many as a table may have
)

// Map finds the word of a block. The zero value is an empty Map. Bits that are set while their group is dropped for
// another one may be lost, or be those of the other one.
type Map struct {
	table atomic.Pointer[table]

	mu      sync.Mutex // guards the table, and what follows
	groups  []group    // that no place has yet
	gen     uint32     // the generation of the groups
	used    int64      // groups
	end     uint64     // all groups are before it
	written []uint64   // blocks of which Written was told, and some that were dropped

	first struct { // most files need no other
		table
		places [1]place
		flags  [1]atomic.Uint32
		groups [1]group
	}
}

// table has the places of groups, and their flags side by side, so that a look for a group that has no flag finds them in
// a cache. The groups stay where they are if the table grows, since memory that is used for the first time is dear.
type table struct {
	places []place
	flags  []atomic.Uint32 // of the groups with that first place: a bit of each block for each Flag
}

// place is that of one group, or of none.
type place struct {
	key   atomic.Uint64 // of another generation is void
	group atomic.Pointer[group]
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

// index returns the index of the group that has the place, and whether there is one.
func (p *place) index() (group uint64, ok bool) {
	k := p.key.Load() ^ key(0) ^ 1
	return k - 1, k != 0 && k>>46 == 0
}

func (p *place) free() bool {
	_, ok := p.index()
	return !ok
}

// first returns the index of the first place of a group. Those of a range have different ones if there are enough, and
// those at a regular distance mostly have.
func (t *table) first(group uint64) int {
	return int((group ^ group>>7 ^ group>>11) & uint64(len(t.flags)-1))
}

// second returns that of a group whose first one is taken. So no two groups that are used in turns drop each other.
func (t *table) second(group uint64) int {
	const odd = 0x9E3779B97F4A7C15 // Knuth's multiplicative hash
	return int(group * odd >> 32 & uint64(len(t.flags)-1))
}

// find returns the place that a group has, or nil.
func (t *table) find(group uint64) *place {
	k := key(group)
	if p := &t.places[t.first(group)]; p.key.Load() == k {
		return p
	}
	if p := &t.places[t.second(group)]; p.key.Load() == k {
		return p
	}
	return nil
}

// Word returns the word of a block, or nil if there is none.
func (m *Map) Word(block uint64) *atomic.Uint64 {
	if t := m.table.Load(); t != nil {
		if p := t.find(block / groupBlocks); p != nil {
			return &p.group.Load()[block%groupBlocks]
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
	t, index := m.table.Load(), block/groupBlocks
	if t == nil {
		first := &m.first
		t, m.groups = &first.table, first.groups[:]
		t.places, t.flags = first.places[:], first.flags[:]
		m.table.Store(t)
	}
	if gen := evictions.Generation(); gen != m.gen {
		m.gen, m.used, m.written = gen, 0, nil
	}
	m.used++
	m.end = max(m.end, index+1)
	for !t.places[t.first(index)].free() && !t.places[t.second(index)].free() && len(t.places) < min(max(placesMin, 2*int(m.used)), placesMax) {
		moved += len(t.places)
		t = t.grow()
		m.table.Store(t)
	}
	p := &t.places[t.first(index)]
	if second := &t.places[t.second(index)]; !p.free() && second.free() {
		p = second
	}
	g := p.group.Load()
	if g == nil {
		if len(m.groups) == 0 {
			m.groups = make([]group, min(4*m.used, groupsMax))
		}
		g, m.groups = &m.groups[0], m.groups[1:]
		p.group.Store(g)
	} else {
		p.key.Store(0)
		for i := range g {
			g[i].Store(0)
		}
	}
	p.key.Store(key(index))
	return &g[block%groupBlocks], moved
}

// grow returns a table with the groups of t, and more places: 8, 64, and twice as many from there on. In a new process each
// of the first ones is memory of a size that was not used before, and takes 1 to 7 µs.
func (t *table) grow() *table {
	n := max(2*len(t.places), min(8*len(t.places), placesMin))
	next := &table{make([]place, n), make([]atomic.Uint32, n)}
	for i := range t.places {
		from := &t.places[i]
		if index, ok := from.index(); ok { // two groups of different places stay so
			to := &next.places[next.first(index)]
			if t.first(index) != i {
				to = &next.places[next.second(index)]
			}
			to.group.Store(from.group.Load())
			to.key.Store(from.key.Load())
			if flags := t.flags[t.first(index)].Load(); flags != 0 {
				next.flags[next.first(index)].Or(flags)
			}
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
	at := t.first(block / groupBlocks)
	flags = Flag(t.flags[at].Load()>>(block%groupBlocks)) & (ForReads | ForWrites | Due)
	switch p := &t.places[at]; {
	case flags&f == 0:
	case p.key.Load() == key(block/groupBlocks):
		w = &p.group.Load()[block%groupBlocks]
	default:
		w = m.Word(block)
	}
	return flags, w
}

// flags returns the flags of a block, and of others. There is a table.
func (m *Map) flags(block uint64) *atomic.Uint32 {
	t := m.table.Load()
	return &t.flags[t.first(block/groupBlocks)]
}

// Places returns the number of places of the table. It is for tests.
func (m *Map) Places() int {
	if t := m.table.Load(); t != nil {
		return len(t.places)
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
	if from := first / groupBlocks; m.end < from+uint64(len(t.places)) {
		for group := from; group < m.end; group++ {
			cleared |= t.find(group).forget(first)
		}
	} else {
		for i := range t.places {
			cleared |= t.places[i].forget(first)
		}
	}
	m.clearWritten(0, first, math.MaxUint64)
	return cleared
}

// forget is Forget for the group of a place, which may have none, or be none.
func (p *place) forget(first uint64) (cleared uint64) {
	if p == nil {
		return 0
	}
	if index, ok := p.index(); ok {
		g := p.group.Load()
		for i := range g {
			if w := &g[i]; index*groupBlocks+uint64(i) >= first && w.Load() != 0 {
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
