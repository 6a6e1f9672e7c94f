// Package pages decides which pages of a file are read and written through its mapping.
//
// A page is read and written by system call until mapping it pays. So no call waits for the
// disk in a page fault, during which the goroutine would keep its P. And a first pass costs
// no more than with os.File. The package keeps a record of what system calls have read and
// written, and decides four things:
//
//   - when mapping the file pays ([Pages.Credit], [Pages.Plan])
//   - when a page is ready, so that reads copy it from the mapping ([Pages.Buy], [Pages.Ready])
//   - when prefaulting a block for mapped writes pays ([Pages.Prefaults])
//   - when all of that is void, because the system has evicted pages ([Look])
//
// It makes no system call for a file, and knows nothing of one but offsets.
//
// Nothing tells whether a file will be read again, so each mapping is a trial. Trials are paid
// for from a budget of the process: recording calls, a question to the system, a mapping, the
// fault of each block, prefaulting. System calls add a share of their time to the
// budget, and mapped calls what they save. If it is empty, nothing is tried.
//
// Invariant: whatever a program does, its calls cost at most 1/32 more than those of os.File,
// 20 ns each for the book-keeping, and once what the budget begins with. The tests hold this
// for priced events.
package pages

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/sys"
)

// Pages is the record of one file. All of it is a hint: a wrong bit costs a page fault, or a
// system call. The zero value is an empty record. It allocates at the first call that it
// records, because many files are closed before.
type Pages struct {
	table atomic.Pointer[table]

	// state has what every system call changes, so that it is one store:
	//
	//	bits  0–43  the offset after the last read
	//	bit  44     the last read came back to pages that were seen
	//	bit  45     calls are recorded until the next group of LookEvery begins (see watches)
	//	bits 46–63  system calls, modulo 2^18
	//
	// A call of another goroutine may be lost.
	state atomic.Uint64
}

const (
	offsetBits = 44
	offsetMask = 1<<offsetBits - 1
	cameBack   = 1 << offsetBits
	recorded   = 1 << (offsetBits + 1)
	callsShift = offsetBits + 2
)

// table finds the word of a block. A block of 64 KiB has one word. Its 16 pages have 4 KiB
// each, also if the system's pages are larger:
//
//	bits  0–15  seen: a call has read or written the page, so it is in memory, or a hole (see Confirm)
//	bits 16–31  prefaulted since the last Sync: writes go to the mapping
//	bits 32–35  reads of seen pages, by weight
//	bits 36–47  calls that mapped writes would have saved since the last Sync
//	bits 48–63  ready: reads copy the page from the mapping; it is seen, too
//
// The leaves are a hash table, so that its size depends on the leaves that exist and not on
// their offsets. A leaf without a place drops another one.
type table struct {
	*record
	confirm bool // the system must confirm that a page exists before it is ready
	leaves  []atomic.Pointer[leaf]

	// front is one look for most files that are read often: all pages before an offset are
	// ready. It is 0 while mapped calls are counted (see saved).
	//
	//	bits  0–43  the offset
	//	bits 44–63  the generation, modulo 2^20
	front atomic.Uint64
}

// leaf has the words of 4 MiB. It is small, because each open file that is read has one.
type leaf struct {
	index   uint64 // which leaf of the file it is, from 0
	key     uint64 // the index and the generation: the leaf is void once that has changed
	words   [leafBlocks]atomic.Uint64
	written atomic.Bool // some words have bits that a Sync clears
}

// record has what is known of the file as a whole.
type record struct {
	mu       sync.Mutex    // guards the table, and the leaves that are added
	gen      uint32        // the generation of the last leaf; under mu
	frontGen uint32        // that of front; under mu
	grown    uint64        // leaves of the generation gen; under mu
	front    uint64        // the block up to which all are ready; under mu
	since    uint64        // calls when it began; under mu
	calls    atomic.Uint64 // system calls, counted in groups of LookEvery

	fault        atomic.Uint32 // nanoseconds that the fault of a block takes; 0 if it is not known
	ending       atomic.Uint32 // what was paid for the end of the mapping, in nanoseconds
	bought       atomic.Uint32 // blocks that were paid for
	saved, limit atomic.Uint32 // mapped calls that were counted, and up to which number they are
	credit       atomic.Uint32 // calls that a mapping would have saved (see weight)
	unproven     atomic.Uint32 // mapped reads that could not prove the end of the file
	unwatched    atomic.Uint32 // groups of LookEvery calls since the last one that was recorded
	joined       atomic.Uint32 // reads that made pages of a block ready which had some
	joinedTook   atomic.Uint32 // nanoseconds that the load of such a page takes
	stands       atomic.Uint32 // for how many calls each of a recorded group stands (see watches)
	lastPage     atomic.Int64  // the page that made them, plus 1; 0 for none
	failures     atomic.Uint32 // attempts to map the file that failed

	run   atomic.Uint32 // reads in order, up to orderFrom
	asked atomic.Int64  // up to this offset the system was asked what is in memory

	past atomic.Uint32 // writes past the known end,
	end  atomic.Int64  // the offset after the last of them

	price         atomic.Uint32 // nanoseconds that prefaulting a block takes; 0 if it is not known
	saving        atomic.Uint32 // nanoseconds that a small mapped write saves; 0 if it is not known
	spent         atomic.Int64  // nanoseconds for prefaulting since the last Sync
	losses, gains atomic.Uint32 // intervals between Syncs in which prefaulting cost more than it saved, and less
	waited        atomic.Bool   // a block has waited for the budget since the last Sync
}

const (
	PageBits  = 12
	BlockBits = 16
	leafBits  = 22

	leafBlocks = 1 << (leafBits - BlockBits)

	// placesMin is the number of places that a table may have with few leaves: 2 KiB.
	placesMin = 256

	// BlockSize is the number of bytes of a block, the unit of prefaulting.
	BlockSize = 1 << BlockBits
	// PageSize is the number of bytes of a recorded page.
	PageSize = 1 << PageBits

	prefaultedShift = 16
	readsShift      = 32
	savedShift      = 36
	readyShift      = 48

	seen       = 1<<16 - 1
	ready      = seen << readyShift
	prefaulted = seen << prefaultedShift
	readsMax   = 1<<4 - 1
	savedBits  = 12
	savedMax   = 1<<savedBits - 1
)

// A Mark is the bit of a block's first page for each property to record.
type Mark uint64

const (
	Seen       Mark = 1
	Ready      Mark = 1 | 1<<readyShift
	Prefaulted Mark = 1 | 1<<readyShift | 1<<prefaultedShift
)

// blockMask returns the pages of block that the bytes from off to end intersect.
func blockMask(block, off, end int64) uint64 {
	first, last := uint(0), uint(15)
	if at := off - block<<BlockBits; at > 0 {
		first = uint(at >> PageBits)
	}
	if at := end - 1 - block<<BlockBits; at < 1<<BlockBits {
		last = uint(at >> PageBits)
	}
	return (2<<(last&63) - 1) &^ (1<<(first&63) - 1)
}

// weight returns the number of calls that mapping n bytes counts as.
func weight(n int64) uint64 { return 1 + uint64(n)>>savedShare }

// key returns what the leaf with that index has as its key now.
func key(index uint64) uint64 { return index ^ uint64(generation.Load())<<40 }

// find returns the leaf with that index, or nil.
func (t *table) find(index uint64) *leaf {
	if l := t.leaves[t.place(index)].Load(); l != nil && l.key == key(index) {
		return l
	}
	return nil
}

// place returns the place of a leaf. Those of a range have different places if there are
// enough, and those at a regular distance mostly have.
func (t *table) place(index uint64) uint64 { return (index ^ index>>7) & uint64(len(t.leaves)-1) }

// word returns the word of a block, or nil if nothing is known of it.
func (p *Pages) word(block uint64) *atomic.Uint64 {
	if t := p.table.Load(); t != nil {
		if l := t.find(block / leafBlocks); l != nil {
			return &l.words[block%leafBlocks]
		}
	}
	return nil
}

// always is set where mapped bytes are read and written through the mapping alone.
const always = sys.Maps && runtime.GOOS == "openbsd"

// has reports whether all pages of n bytes at off have a bit set. shift is the bit of a
// block's first page.
func (p *Pages) has(shift uint, off int64, n int) bool {
	first, last := uint64(off)>>PageBits, uint64(off+int64(n)-1)>>PageBits
	if first/16 != last/16 {
		return always || p.hasBlocks(shift, first, last)
	}
	if t := p.table.Load(); t != nil { // word, inlined by hand: two nanoseconds less
		if l := t.find(first / 16 / leafBlocks); l != nil && runLength(l.words[first/16%leafBlocks].Load()>>(shift&63), first) > last-first {
			return true
		}
	}
	return always
}

// hasBlocks is has for the pages from first to last, of several blocks.
func (p *Pages) hasBlocks(shift uint, first, last uint64) bool {
	for {
		w, end := p.word(first/16), min(last, first|15)
		if w == nil || runLength(w.Load()>>(shift&63), first) <= end-first {
			return false
		}
		if first = end + 1; end == last {
			return true
		}
	}
}

// runLength returns the number of consecutive pages, from first on, whose bits are set in
// their block.
func runLength(set, first uint64) uint64 {
	return uint64(bits.TrailingZeros64(^(set >> (first % 16))))
}

// Seen reports whether system calls have read or written all pages of n bytes at off.
func (p *Pages) Seen(off int64, n int) bool { return p.has(0, off, n) }

// Ready reports whether reads of n bytes at off copy from the mapping.
func (p *Pages) Ready(off int64, n int) bool {
	if t := p.table.Load(); t != nil {
		if w := t.front.Load(); uint64(off)+uint64(n) <= w&offsetMask && w>>offsetBits == uint64(generation.Load())&(1<<20-1) {
			return true
		}
	}
	return p.readyCounted(off, n)
}

// MayRead is Ready, but does not count the call.
func (p *Pages) MayRead(off int64, n int) bool { return p.has(readyShift, off, n) }

// readyCounted is Ready while the front does not tell. It counts the call.
func (p *Pages) readyCounted(off int64, n int) bool {
	if !p.has(readyShift, off, n) {
		return false
	}
	if t := p.table.Load(); t != nil {
		p.saved(t)
	}
	return true
}

// advance moves the front to the first page that is not ready.
func (p *Pages) advance() {
	r := p.begin().record
	r.mu.Lock()
	defer r.mu.Unlock()
	t := p.table.Load()
	if gen := generation.Load(); gen != r.frontGen {
		r.front, r.frontGen = 0, gen
	}
	run := uint64(0)
	for ; r.front < offsetMask>>BlockBits; r.front++ {
		w := p.word(r.front)
		if w == nil {
			break
		}
		if run = runLength(w.Load()>>readyShift, 0); run < 16 {
			break
		}
		run = 0
	}
	t.front.Store(r.front<<BlockBits + run<<PageBits | uint64(r.frontGen)<<offsetBits)
}

// advanceCounted is advance, unless mapped calls are counted.
func (p *Pages) advanceCounted() {
	if t := p.table.Load(); t != nil && t.saved.Load() > t.limit.Load() {
		p.advance()
	}
}

// resetFront is called once pages that were ready may not be so any more, with mu held.
func (p *Pages) resetFront(r *record) {
	r.front = 0
	p.table.Load().front.Store(0)
}

// Known reports whether all pages of n bytes at off are known to be in memory.
func (p *Pages) Known(off int64, n int) bool { return p.has(p.table.Load().knownShift(), off, n) }

// Proves reports whether a load of the page at off may prove that the file has it: the page is known
// to be in memory, and the fault of its block is not one that was not paid for.
func (p *Pages) Proves(off int64) bool {
	if off%BlockSize == 0 {
		return p.MayRead(off, 1)
	}
	return p.Known(off, 1)
}

// knownShift returns the bit that says of a block's first page that it is in memory.
func (t *table) knownShift() uint {
	if t != nil && t.confirm { // what is only seen may be a hole
		return readyShift
	}
	return 0
}

// IsPrefaulted reports whether writes of n bytes at off go to the mapping.
func (p *Pages) IsPrefaulted(off int64, n int) bool { return p.has(prefaultedShift, off, n) }

// PrefaultedBefore is IsPrefaulted for bytes before the page at next. It also reports whether
// that page is known to be in memory. Most often one look at a word tells both.
func (p *Pages) PrefaultedBefore(next, off int64, n int) (prefaulted, known bool) {
	first, last, after := uint64(off)>>PageBits, uint64(off+int64(n)-1)>>PageBits, uint64(next)>>PageBits
	if t := p.table.Load(); t != nil && first/16 == after/16 && !always {
		if l := t.find(first / 16 / leafBlocks); l != nil {
			w := l.words[first/16%leafBlocks].Load()
			return runLength(w>>prefaultedShift, first) > last-first, w>>t.knownShift()>>(after%16)&1 != 0
		}
	}
	return p.IsPrefaulted(off, n), p.Known(next, 1)
}

// begin returns the table, and makes an empty one if there is none.
func (p *Pages) begin() *table {
	if t := p.table.Load(); t != nil {
		return t
	}
	p.table.CompareAndSwap(nil, &table{record: new(record), leaves: make([]atomic.Pointer[leaf], 1)})
	return p.table.Load()
}

// grow is word, but allocates what is missing. It returns nil for some blocks if reads are
// spread over a large file: in one at most one leaf is added for every four calls.
func (p *Pages) grow(block uint64) (w *atomic.Uint64, l *leaf) {
	if l = p.begin().find(block / leafBlocks); l == nil {
		if l = p.addLeaf(block / leafBlocks); l == nil {
			return nil, nil
		}
	}
	return &l.words[block%leafBlocks], l
}

// addLeaf returns the leaf with that index, which may be new.
func (p *Pages) addLeaf(index uint64) *leaf {
	r := p.begin().record
	r.mu.Lock()
	defer r.mu.Unlock()
	t := p.table.Load()
	if l := t.find(index); l != nil {
		return l
	}
	if gen := generation.Load(); gen != r.gen {
		r.gen, r.grown, r.since = gen, 0, r.calls.Load()
	}
	if r.grown >= 128 && (r.calls.Load()-r.since)/4 <= r.grown || r.grown > 0 && !pays(leafPrice) {
		return nil
	}
	r.grown++
	l := &leaf{index: index, key: key(index)}
	for !t.put(l) && uint64(len(t.leaves)) < max(placesMin, 8*r.grown) {
		t = t.double()
	}
	p.table.Store(t)
	if at := &t.leaves[t.place(index)]; at.Load() != l { // the one that is there is dropped
		at.Store(l)
		p.resetFront(r)
	}
	return l
}

// put stores l in its place, unless another leaf is there that is not void.
func (t *table) put(l *leaf) bool {
	at := &t.leaves[t.place(l.index)]
	if other := at.Load(); other != nil && other.key == key(other.index) {
		return false
	}
	at.Store(l)
	return true
}

// double returns a table with the leaves of t, and twice as many places.
func (t *table) double() *table {
	next := &table{record: t.record, confirm: t.confirm, leaves: make([]atomic.Pointer[leaf], 2*len(t.leaves))}
	next.front.Store(t.front.Load())
	for i := range t.leaves {
		if l := t.leaves[i].Load(); l != nil {
			next.put(l) // two leaves of different places stay so
		}
	}
	return next
}

// Note records a property of all pages of n bytes at off, and reports whether they were
// seen before.
func (p *Pages) Note(mark Mark, off, n int64) (again bool) {
	again = true
	end := off + n
	for block := off >> BlockBits; block<<BlockBits < end; block++ {
		w := p.word(uint64(block))
		if w == nil {
			w, _ = p.grow(uint64(block))
		}
		if w == nil {
			return false
		}
		pages := blockMask(block, off, end)
		all := pages * uint64(mark)
		old := w.Load()
		if old&all != all {
			old = w.Or(all)
		}
		again = again && old&pages == pages
	}
	if mark != Seen {
		p.advanceCounted()
	}
	return again
}

// forget clears bits of the blocks that the bytes from off to end intersect.
func (p *Pages) forget(mask uint64, off, end int64) {
	t := p.table.Load()
	if t == nil {
		return
	}
	for i := range t.leaves {
		l := t.leaves[i].Load()
		if l == nil || mask&seen == 0 && !l.written.Load() {
			continue
		}
		start := int64(l.index << leafBits)
		if off >= start+1<<leafBits || end <= start {
			continue
		}
		from, to := max(off, start)>>BlockBits, min(end-1, start+1<<leafBits-1)>>BlockBits
		if int(to-from) == len(l.words)-1 {
			l.written.Store(false)
		}
		for block := from; block <= to; block++ {
			if w := &l.words[int(block)%len(l.words)]; w.Load()&mask != 0 {
				w.And(^mask)
			}
		}
	}
	if mask&ready != 0 {
		t.mu.Lock()
		p.resetFront(t.record)
		t.mu.Unlock()
	}
}

// Truncated forgets the blocks past the end of a file that has become shorter, and the one
// with the end.
func (p *Pages) Truncated(size int64) {
	if t := p.table.Load(); t != nil {
		t.end.Store(min(t.end.Load(), size))
		p.forget(^uint64(0), size, math.MaxInt64)
	}
}

// Synced forgets which pages are prefaulted from off to end. When the system writes them
// back, it makes them read-only, so the next write to each faults again.
func (p *Pages) Synced(off, end int64) { p.forget(prefaulted|savedMax<<savedShift, off, end) }
