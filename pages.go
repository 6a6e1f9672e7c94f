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
// the goroutine would keep its P. And the first pass over a file costs what it costs with
// os.File.
//
// A block of 64 KiB has one word. Its 16 pages have 4 KiB each, also if the system's pages
// are larger:
//
//	bits  0–15  seen: a call has read or written the page, so it is in memory
//	bits 16–31  prefaulted since the last Sync: writes go to the mapping
//	bits 32–35  reads that came back to seen pages
//	bits 36–47  what mapped writes would have saved since the last Sync
//	bits 48–63  ready: reads copy the page from the mapping; it is seen, too
//
// All of it is a hint. A wrong bit costs a page fault, or a system call.
type pages struct {
	table atomic.Pointer[table]
	_     [lineSize - 8]byte // what follows is written by every system call
	mu    sync.Mutex         // guards table, and the leaves that are added

	calls atomic.Uint64 // reads and writes by system call
	back  atomic.Uint32 // what those save that came back to seen pages
	tries atomic.Uint32 // attempts to map the file that failed
	past  atomic.Uint32 // writes past the known end,
	end   atomic.Int64  // the offset after the last of them

	next  atomic.Int64  // the offset after the last read
	run   atomic.Uint32 // reads in order
	asked atomic.Int64  // up to this offset the system was asked what is in memory
	blind atomic.Bool   // the system cannot report what is in memory

	price         atomic.Uint32 // of prefaulting a block, in nanoseconds; 0 if it is not known
	spent         atomic.Int64  // nanoseconds for prefaulting since the last Sync
	losses, gains atomic.Uint32 // periods that have cost more than they saved, and less
}

// table finds the word of a block.
type table struct {
	gen    uint32 // of evictions: the table is void if that generation is newer
	leaves []atomic.Pointer[leaf]
	grown  uint64 // how many of them there are, under mu
	since  uint64 // calls when it was made
}

// leaf has the words of 4 MiB. It is small, because each open file that is read has one.
type leaf struct {
	words   [1 << (leafBits - blockBits)]atomic.Uint64
	written atomic.Bool // some have bits that a Sync clears
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

// These are all numbers to tune. They were measured on ext4, Linux 6.18, with a pread of 4
// KiB at 0.3 to 1 µs. Each says what is worse without it.
const (
	trackFrom   = 32        // calls before anything is noted: sfnt-open (31 reads) was 15% slower with 16
	mapFrom     = 48        // calls that came back: mapping and its end cost 11 µs, as much as 25 of them
	readyFrom   = 3         // of those in a block: its first fault costs 0.6 µs, as much as one
	savedShare  = 14        // 2^14 bytes of a call save as much as another call: rereading in 1 MiB pieces
	orderFrom   = 8         // reads in order before the next ones are foreseen: asking costs 0.3 µs
	orderMost   = 32 << 10  // reads in order before the next ones are predicted: asking costs 0.3 µs
	aheadBytes  = 512 << 10 // that are asked about at once: bufio.Scanner
	prereadMost = 4 << 20   // bytes that one question covers: bufio.Scanner
	savedWrite  = 600       // nanoseconds that a small mapped write saves: random-64B, sync-40x64B-in-64KB

	checkEvery = 128                    // calls from one look at the major faults to the next: pages-1000
	timeEvery  = 32                     // mapped writes from one that is timed to the next: behind-64B
	evictPause = 100 * time.Millisecond // from one eviction to the next: larger than memory, nothing would stay known
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

// weight returns what mapping saves for n bytes, in calls.
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

// grow is word for a block about which something is recorded. It returns nil past the
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

// growLeaf returns leaf i of t, which may be new. Reads that do not come back to a large
// file get one for every fourth of them, so that most allocate nothing.
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

// growTable returns a table that has leaf i.
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

// countReread counts a read of seen pages in each of its blocks. It makes the blocks ready
// that have paid for their fault.
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

// synced forgets which pages are prefaulted from off to end. The system protects them from
// writing when it writes them back, so the next write to each faults again.
func (p *pages) synced(off, end int64) { p.forget(prefaulted|savedMost<<savedShift, off, end) }
