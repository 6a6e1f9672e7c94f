package mmapfile

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// pages says what is known of each page of a File. A page is read and written by system
// call until mapping it pays. So no call waits for the disk in a page fault, during which
// the goroutine would keep its P. And a first pass costs no more than with os.File.
//
// A block of 64 KiB has one word. Its 16 pages have 4 KiB each, also if the system's pages
// are larger:
//
//	bits  0–15  seen: a call has read or written the page, so it is in memory
//	bits 16–31  prefaulted since the last Sync: writes go to the mapping
//	bits 32–35  reads of seen pages, by weight
//	bits 36–47  calls that mapped writes would have saved since the last Sync
//	bits 48–63  ready: reads copy the page from the mapping; it is seen, too
//
// All of it is a hint. A wrong bit costs a page fault, or a system call.
type pages struct {
	table atomic.Pointer[table]
	_     [lineSize - 8]byte // padding: each read or write by system call writes fields below
	mu    sync.Mutex         // guards table, and the leaves that are added

	calls atomic.Uint64 // reads and writes by system call
	back  atomic.Uint32 // calls that a mapping would have saved (see weight)
	tries atomic.Uint32 // attempts to map the file that failed
	past  atomic.Uint32 // writes past the known end,
	end   atomic.Int64  // the offset after the last of them

	next  atomic.Int64  // the offset after the last read
	run   atomic.Uint32 // reads in order
	asked atomic.Int64  // up to this offset the system was asked what is in memory
	blind atomic.Bool   // the system cannot report what is in memory

	price         atomic.Uint32 // of prefaulting a block, in nanoseconds; 0 if it is not known
	spent         atomic.Int64  // nanoseconds for prefaulting since the last Sync
	losses, gains atomic.Uint32 // intervals between Syncs in which prefaulting cost more than it saved, and less
}

// table finds the word of a block.
type table struct {
	gen    uint32 // evictions.gen when the table was made: the table is void once that has changed
	leaves []atomic.Pointer[leaf]
	grown  uint64 // the number of leaves that exist; guarded by mu
	since  uint64 // calls when its generation began
}

// leaf has the words of 4 MiB. It is small, because each open file that is read has one.
type leaf struct {
	words   [1 << (leafBits - blockBits)]atomic.Uint64
	written atomic.Bool // some words have bits that a Sync clears
}

const (
	pageBits  = 12
	blockBits = 16
	leafBits  = 22

	prefaultedShift = 16
	readsShift      = 32
	savedShift      = 36
	readyShift      = 48

	seen       = 1<<16 - 1
	ready      = seen << readyShift
	prefaulted = seen << prefaultedShift
	readsMost  = 1<<4 - 1
	savedBits  = 12
	savedMost  = 1<<savedBits - 1
)

// These numbers can be tuned. They were measured on ext4, Linux 6.18, with a pread of 4 KiB
// at 0.3 to 1 µs. Each comment names the cost that the number weighs, or the benchmark that
// is slower without it.
const (
	trackFrom   = 32        // first call that is noted: sfnt-open (31 reads) was 15% slower with 16
	mapFrom     = 48        // calls on seen pages before the file is mapped: mapping and unmapping cost 11 µs, as 25 calls do
	readyFrom   = 3         // reads of seen pages in a block before it is ready: its first fault costs 0.6 µs, as one call does
	savedShare  = 14        // each 2^14 bytes of a call count as one more call: rereading in 1 MiB pieces
	orderFrom   = 8         // small reads in order before the next ones are predicted: asking the system costs 0.3 µs
	orderMost   = 32 << 10  // bytes of a small read: for longer ones mapping saves nothing
	aheadBytes  = 512 << 10 // bytes that one question to the system covers: bufio.Scanner
	prereadMost = 4 << 20   // bytes that are read before user code sees them: a cold View
	savedWrite  = 600       // nanoseconds that a small mapped write saves: random-64B, sync-40x64B-in-64KB

	checkEvery = 128                    // calls from one look at the major faults to the next: pages-1000
	timeEvery  = 32                     // mapped writes from one that is timed to the next: behind-64B
	evictPause = 100 * time.Millisecond // least time between evictions: in a file larger than memory no page would stay seen
	evictTick  = time.Second            // from one look at the major faults to the next if all reads are mapped: evicted-random
)

// tableMost is the length in bytes of the part of a file that is recorded: the table of 1
// TiB takes 2 MiB.
const tableMost = 1 << 40

// blockMask returns the pages of block that the bytes from off to end intersect.
func blockMask(block, off, end int64) uint64 {
	first, last := uint(0), uint(15)
	if at := off - block<<blockBits; at > 0 {
		first = uint(at >> pageBits)
	}
	if at := end - 1 - block<<blockBits; at < 1<<blockBits {
		last = uint(at >> pageBits)
	}
	return (2<<(last&63) - 1) &^ (1<<(first&63) - 1)
}

// weight returns the number of calls that mapping n bytes counts as.
func weight(n int64) uint64 { return 1 + uint64(n)>>savedShare }

// word returns the word of a block, or nil if nothing is known of it.
func (p *pages) word(block int64) *atomic.Uint64 {
	t, i := p.table.Load(), uint64(block)>>(leafBits-blockBits)
	if t == nil || t.gen != evictions.gen.Load() || i >= uint64(len(t.leaves)) {
		return nil
	}
	l := t.leaves[i].Load()
	if l == nil {
		return nil
	}
	return &l.words[uint64(block)%uint64(len(l.words))]
}

// has reports whether all pages of n bytes at off have a bit set. shift is the bit of a
// block's first page.
func (p *pages) has(shift uint, off int64, n int) bool {
	first, last := uint64(off)>>pageBits, uint64(off+int64(n)-1)>>pageBits
	for {
		w, end := p.word(int64(first/16)), min(last, first|15)
		if w == nil || runLength(w.Load()>>(shift&63), first) <= end-first {
			return split
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

func (p *pages) seen(off int64, n int) bool  { return p.has(0, off, n) }
func (p *pages) ready(off int64, n int) bool { return p.has(readyShift, off, n) }

// grow is word, but allocates a table or leaf that is missing. It returns nil past the
// table's limit, and for some blocks if reads are spread over a large file.
func (p *pages) grow(block int64) (w *atomic.Uint64, l *leaf) {
	i := uint64(block) >> (leafBits - blockBits)
	t := p.table.Load()
	if t == nil || t.gen != evictions.gen.Load() || i >= uint64(len(t.leaves)) {
		if i >= uint64(min(tableMost, mapLimit))>>leafBits {
			return nil, nil
		}
		t = p.growTable(int(i))
	}
	if l = t.leaves[i].Load(); l == nil {
		if l = p.growLeaf(t, i); l == nil {
			return nil, nil
		}
	}
	return &l.words[uint64(block)%uint64(len(l.words))], l
}

// growLeaf returns leaf i of t, which may be new. In a large file at most one is added for
// every four calls, and otherwise the result is nil. So most reads that are spread over
// the file allocate nothing.
func (p *pages) growLeaf(t *table, i uint64) *leaf {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := t.leaves[i].Load()
	if l == nil && (t.grown < 128 || (p.calls.Load()-t.since)/4 > t.grown) {
		l = new(leaf)
		t.leaves[i].Store(l)
		t.grown++
	}
	return l
}

// growTable returns a table that has a place for leaf i.
func (p *pages) growTable(i int) *table {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, gen := p.table.Load(), evictions.gen.Load()
	fresh := t != nil && t.gen == gen
	if fresh && i < len(t.leaves) {
		return t
	}
	next := &table{gen: gen, leaves: make([]atomic.Pointer[leaf], i+1+i/4), since: p.calls.Load()}
	if fresh {
		next.grown, next.since = t.grown, t.since
		for j := range t.leaves {
			next.leaves[j].Store(t.leaves[j].Load())
		}
	}
	p.table.Store(next)
	return next
}

// note sets bits of all pages of n bytes at off, and reports whether they were seen before.
// mask has the bits of a block's first page.
func (p *pages) note(mask uint64, off, n int64) (back bool) {
	back = true
	end := off + n
	for block := off >> blockBits; block<<blockBits < end; block++ {
		w := p.word(block)
		if w == nil {
			w, _ = p.grow(block)
		}
		if w == nil {
			return false
		}
		pages := blockMask(block, off, end)
		all := pages * mask
		old := w.Load()
		if old&all != all {
			old = w.Or(all)
		}
		back = back && old&pages == pages
	}
	return back
}

const (
	noteSeen  = 1
	noteReady = 1 | 1<<readyShift
)

// countReread counts a read of seen pages in each of its blocks. After readyFrom such reads
// of a block, its seen pages are ready.
func (p *pages) countReread(off, n int64) {
	end := off + n
	for block := off >> blockBits; block<<blockBits < end; block++ {
		w := p.word(block)
		if w == nil {
			continue
		}
		part := min(end, (block+1)<<blockBits) - max(off, block<<blockBits)
		old := w.Load()
		reads := min(old>>readsShift&readsMost+weight(part), readsMost)
		next := old&^(readsMost<<readsShift) | reads<<readsShift
		if reads >= readyFrom {
			next |= next & seen << readyShift
		}
		if next != old {
			w.CompareAndSwap(old, next) // else another call counts
		}
	}
}

// forget clears bits of the blocks that the bytes from off to end intersect.
func (p *pages) forget(mask uint64, off, end int64) {
	t := p.table.Load()
	if t == nil {
		return
	}
	for i := off >> leafBits; i < int64(len(t.leaves)) && i<<leafBits < end; i++ {
		l := t.leaves[i].Load()
		if l == nil || mask&seen == 0 && !l.written.Load() {
			continue
		}
		from, to := max(off, i<<leafBits)>>blockBits, min(end-1, (i+1)<<leafBits-1)>>blockBits
		if int(to-from) == len(l.words)-1 {
			l.written.Store(false)
		}
		for block := from; block <= to; block++ {
			if w := &l.words[int(block)%len(l.words)]; w.Load()&mask != 0 {
				w.And(^mask)
			}
		}
	}
}

// truncated forgets what is past the end of a file that has become shorter.
func (p *pages) truncated(size int64) {
	p.end.Store(min(p.end.Load(), size))
	p.forget(^uint64(0), size, math.MaxInt64)
}

// synced forgets which pages are prefaulted from off to end. When the system writes them
// back, it makes them read-only, so the next write to each faults again.
func (p *pages) synced(off, end int64) { p.forget(prefaulted|savedMost<<savedShift, off, end) }
