// Package blocks keeps bits for the pages of a file: a block of 64 KiB has one word.
//
// The words of eight blocks stand side by side, and are a group with one key. That is a hash table, so that
// its size depends on what was read and not on its offsets. It holds nothing once the system has evicted pages:
// each generation has keys of its own.
package blocks

import (
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/evictions"
)

const (
	groupBlocks = 8
	placesMin   = 64      // places that a table may have with few groups: 5 KiB
	placesMax   = 1 << 16 // and with many: 5 MiB, for 32 GiB
)

// Map finds the word of a block. The zero value is an empty Map. A change of the table may lose bits that are
// set meanwhile.
type Map struct {
	table atomic.Pointer[table]

	mu   sync.Mutex // guards the table, and the groups that are added
	gen  uint32     // the generation of the groups that are counted; under mu
	used int        // groups; under mu

	first struct { // most files need no other
		table
		place [1]place
	}
}

type table struct{ places []place }

// place has the words of a group.
type place struct {
	key     atomic.Uint64 // of another generation is void
	words   [groupBlocks]atomic.Uint64
	written atomic.Bool // see Map.Written
}

// key returns what the group with that index has as its key now.
func key(group uint64) uint64 { return (group + 1) ^ uint64(evictions.Generation())<<46 }

// group returns the index of the group at the place, and whether there is one.
func (at *place) group() (group uint64, ok bool) {
	k := at.key.Load() ^ key(0) ^ 1
	return k - 1, k != 0 && k>>46 == 0
}

func (at *place) free() bool {
	_, ok := at.group()
	return !ok
}

// place returns the first place of a group. Those of a range have different ones if there are enough, and those at
// a regular distance mostly have.
func (t *table) place(group uint64) *place {
	return &t.places[(group^group>>7^group>>11)&uint64(len(t.places)-1)]
}

// second returns the place of a group whose first one is taken. So no two groups that are used in turns drop each other.
func (t *table) second(group uint64) *place {
	const odd = 0x9E3779B97F4A7C15 // Knuth's multiplicative hash
	return &t.places[group*odd>>32&uint64(len(t.places)-1)]
}

// find returns the place that a group has, or nil.
func (m *Map) find(group uint64) *place {
	t := m.table.Load()
	if t == nil {
		return nil
	}
	k := key(group)
	if at := t.place(group); at.key.Load() == k {
		return at
	}
	if at := t.second(group); at.key.Load() == k {
		return at
	}
	return nil
}

// Word returns the word of a block, or nil if there is none.
func (m *Map) Word(block uint64) *atomic.Uint64 {
	if at := m.find(block / groupBlocks); at != nil {
		return &at.words[block%groupBlocks]
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
		t = &m.first.table
		t.places = m.first.place[:]
	}
	if gen := evictions.Generation(); gen != m.gen {
		m.gen, m.used = gen, 0
	}
	m.used++
	for !t.place(group).free() && !t.second(group).free() && len(t.places) < min(max(placesMin, 2*m.used), placesMax) {
		moved += len(t.places)
		t = t.double()
	}
	at := t.place(group)
	if second := t.second(group); !at.free() && second.free() {
		at = second
	} else if !at.free() {
		m.used--
	}
	at.key.Store(0)
	for i := range at.words {
		at.words[i].Store(0)
	}
	at.written.Store(false)
	at.key.Store(key(group))
	m.table.Store(t)
	return &at.words[block%groupBlocks], moved
}

// double returns a table with the groups of t, and twice as many places.
func (t *table) double() *table {
	next := &table{make([]place, 2*len(t.places))}
	for i := range t.places {
		from := &t.places[i]
		if group, ok := from.group(); ok { // two groups of different places stay so
			to := next.place(group)
			if t.place(group) != from {
				to = next.second(group)
			}
			for j := range from.words {
				to.words[j].Store(from.words[j].Load())
			}
			to.written.Store(from.written.Load())
			to.key.Store(from.key.Load())
		}
	}
	return next
}

// Places returns the number of places of the table. It is for tests.
func (m *Map) Places() int {
	if t := m.table.Load(); t != nil {
		return len(t.places)
	}
	return 0
}

// Written says that the word of the block has bits which ClearWritten clears.
func (m *Map) Written(block uint64) {
	if at := m.find(block / groupBlocks); at != nil && !at.written.Load() {
		at.written.Store(true)
	}
}

// Clear clears the bits of mask in the words of all blocks from first on, up to end.
func (m *Map) Clear(mask, first, end uint64) { m.clear(mask, first, end, false) }

// ClearWritten is Clear for groups of which Written was told.
func (m *Map) ClearWritten(mask, first, end uint64) { m.clear(mask, first, end, true) }

func (m *Map) clear(mask, first, end uint64, written bool) {
	t := m.table.Load()
	if t == nil {
		return
	}
	for i := range t.places {
		at := &t.places[i]
		if written && !at.written.Load() {
			continue
		}
		group, ok := at.group()
		begin := group * groupBlocks
		if !ok || first >= begin+groupBlocks || end <= begin {
			continue
		}
		if first <= begin && end >= begin+groupBlocks {
			at.written.Store(false)
		}
		for j := max(begin, first); j < min(begin+groupBlocks, end); j++ {
			if w := &at.words[j-begin]; w.Load()&mask != 0 {
				w.And(^mask)
			}
		}
	}
}
