// Package pages decides which pages of a file are read and written through its mapping.
//
// A page is read and written by system call until mapping it pays. So no call waits for the
// disk in a page fault, during which the goroutine would keep its P. And a first pass costs
// no more than with os.File. The package keeps a record of what system calls have read and
// written, and has its [Host], the File, do what follows from it:
//
//   - map the file, after some calls that came back to seen pages
//   - load a page of a block, which is ready then: reads copy its pages from the mapping
//   - prefault a block, once its writes since the last Sync have taken as long as that takes
//   - ask what is in memory, and tell the system about reads in order
//
// All of that is void once the system has evicted pages. It makes no system call by
// itself, and holds no lock while it calls the Host.
//
// Nothing tells whether a file will be read again, so each of these is a trial, which one account of the process pays
// for. A system call adds a share of its time to the account, and a mapped call what it saves. Above zero anything may
// be tried, and what it took is subtracted. Below zero nothing is, but for the page that proves a copy. While a mapping
// or a prefault waits for the account, calls are recorded only as a sample: what is known is to pay first.
//
// Invariant: whatever a program does, the package adds to its calls at most 1/32 of what they take with os.File, 20 ns
// each, and once what the account begins with and two trials: one that was begun above zero, and mapped writes that
// lost time until one of them was timed. Not counted are page faults because the system has taken pages away, a look
// for them each 250 ms while a file is mapped, and what the first trial of its kind takes above half of that account,
// since its code is in no cache. The simulation of the tests looks for programs that break this, with fixed prices. Of
// 17,500 programs of unlike files in turns that were drawn at random, four still do, where a system call takes 2 µs,
// by up to 0.6% of 20 ms with os.File. Real prices vary, and what the rest of the File does in a call is not in it.
package pages

import (
	"runtime"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/reason"
	"go.dw1.io/mmapfile/internal/sys"
)

// Host is the file that the Pages are of. What takes time returns how long.
type Host interface {
	MapsTo(end int64) bool                                 // the file has the bytes up to end, and calls may use a mapping of them
	Map() (took time.Duration, ok bool)                    // maps the file for calls
	Size(off int64) int64                                  // the length, for reads at off; 0 if the file is not to be mapped
	Load(off int64) (took time.Duration)                   // loads the page at off; 0 if it could not
	InMemory(off, end int64) (in bool, err error)          // whether pages are in memory, and exist
	ReadPage(off int64)                                    // reads the page in, and notes that it is ready
	InOrder(on bool)                                       // tells the system, once, whether the file is read in order
	Prefault(off, end int64) (took time.Duration, ok bool) // prefaults the block of these bytes, and notes it
	TimeCall(off int64) (took time.Duration)               // a small read by system call; 0 if it could not
}

// Pages is the record of one file. All of it is a hint: a wrong bit costs a page fault, or a
// system call. The zero value is an empty record. It allocates at the first call that it
// records, because many files are closed before.
type Pages struct {
	rec atomic.Pointer[record]

	front blocks.Front // of the pages that are ready; mapped calls do without it while they are counted

	// state has what every system call changes, so that it is one store:
	//
	//	bits  0–39  the offset after the last read
	//	bit  40     the file is closed: no more calls are counted for the process
	//	bit  41     calls are recorded until the next group of LookEvery begins
	//	bit  42     and each of them stands for recordOne
	//	bits 43–44  reads in order, up to readyFrom
	//	bits 48–55  calls that were not recorded, and are not in the record either
	//	bits 56–63  system calls, modulo 2^8
	//
	// Of calls at the same time one is counted.
	state atomic.Uint64
}

const (
	offsetBits = 40
	offsetMask = 1<<offsetBits - 1
	closed     = 1 << offsetBits
	recorded   = 1 << (offsetBits + 1)
	sampled    = 1 << (offsetBits + 2)
	oneInOrder = 1 << (offsetBits + 3)
	runMask    = 3 * oneInOrder // at least readyFrom
	earlyShift = offsetBits + 8
	oneEarly   = 1 << earlyShift
	earlyMask  = 255 * oneEarly
	callsShift = offsetBits + 16
	oneCall    = 1 << callsShift
)

// record has what is known of the file. A block of 64 KiB has one word. Its 16 pages have 4 KiB each, also if the
// system's pages are larger:
//
//	bits  0–15  seen: a call has read or written the page, so it is in memory, or a hole (see Confirm)
//	bits 16–31  prefaulted since the last Sync: writes go to the mapping
//	bits 32–39  reads of seen pages that are not ready (see waiting)
//	bits 40–47  writes since the last Sync
//	bits 48–63  ready: reads copy the page from the mapping; it is seen, too
type record struct {
	blocks.Map

	confirm  atomic.Bool                    // the system must confirm that a page exists before it is ready
	credit   atomic.Int32                   // calls that a mapping would have saved; below zero after one that failed
	asked    atomic.Int64                   // up to this offset the system was asked what is in memory
	fell     atomic.Int64                   // up to this one prices fell because reading ahead did not pay
	loaded   atomic.Int64                   // blocks whose end is paid
	prefault atomic.Int64                   // what counted of the last prefault
	took     [3][prices.Sizes]atomic.Uint32 // of the last copies, and reads and writes by system call, that were timed, for each of prices.Units
	calls    reason.Counter                 // system calls by reason, but for those that state counts
	rest     atomic.Int32                   // the reason of the last ones that were not recorded, if there are any
}

const (
	// BlockSize is the number of bytes of a block, the unit of prefaulting.
	BlockSize = blocks.BlockSize
	// PageSize is the number of bytes of a recorded page.
	PageSize = blocks.PageSize

	pageBits  = blocks.PageBits
	blockBits = blocks.BlockBits

	prefaultedShift = 16
	readsShift      = 32
	writesShift     = 40
	readyShift      = 48

	seen       = 1<<16 - 1
	ready      = seen << readyShift
	prefaulted = seen << prefaultedShift
	readsMax   = 1<<8 - 1
	writesMax  = 1<<8 - 1

	// waiting is the count of reads in a block of which nothing could be made ready, or proved. From there on it counts
	// the calls that are recorded, up to readsMax, and then begins anew.
	waiting = readyFrom + 1
)

// A Mark is the bit of a block's first page for each property to record.
type Mark uint64

const (
	Seen       Mark = 1
	Ready      Mark = 1 | 1<<readyShift
	Prefaulted Mark = 1 | 1<<readyShift | 1<<prefaultedShift
)

// always is set where mapped bytes are read and written through the mapping alone.
const always = sys.Maps && runtime.GOOS == "openbsd"

// has reports whether all pages of n bytes at off have a property.
func (p *Pages) has(shift uint, off int64, n int) bool {
	r := p.rec.Load()
	if r == nil || always {
		return always
	}
	return r.Has(shift, off, n)
}

// Ready reports whether reads of n bytes at off may copy from the mapping.
func (p *Pages) Ready(off int64, n int) bool { return p.has(readyShift, off, n) }

// Draw returns how a read of n bytes at off is made. saves says that it saves a system call if it is a copy, which is
// counted.
func (p *Pages) Draw(off int64, n int, saves bool) How {
	if n < Long && p.front.Before(uint64(off)+uint64(n)) && !account.Counting() {
		return Copy
	}
	if saves && p.flags(off)&blocks.ForReads == 0 {
		return System
	}
	return p.draw(off, n, saves)
}

// Known reports whether all pages of n bytes at off are known to be in memory.
func (p *Pages) Known(off int64, n int) bool { return p.has(p.rec.Load().knownShift(), off, n) }

// Proves reports whether a load of the page at off may prove that the file has it: the page is known
// to be in memory, and the fault of its block is not one that was not paid for.
func (p *Pages) Proves(off int64) bool {
	if off%BlockSize == 0 {
		return p.Ready(off, 1)
	}
	return p.Known(off, 1)
}

// knownShift returns the bit that says of a block's first page that it is in memory.
func (r *record) knownShift() uint {
	if r != nil && r.confirm.Load() { // what is only seen may be a hole
		return readyShift
	}
	return 0
}

// PrefaultedBefore reports whether writes of n bytes at off go to the mapping, and if so, whether the page at
// next, which comes after them, is known to be in memory. If not, due says whether to call Prefault. Most often one look
// at a word tells both. A long write needs an account that could pay a fault of each page. See reserve.
func (p *Pages) PrefaultedBefore(next, off int64, n int) (prefaulted, known, due bool) {
	r := p.rec.Load()
	if r == nil || always {
		return always, always, Eager
	}
	first, last, after := uint64(off)>>pageBits, uint64(off+int64(n)-1)>>pageBits, uint64(next)>>pageBits
	flags, w := r.Flagged(blocks.ForWrites, first/16)
	due = flags&blocks.Due != 0 || Eager
	switch {
	case w == nil || n > reserveFrom && !account.Affords(reserve(n)):
		return false, false, due
	case first/16 != after/16:
		return p.has(prefaultedShift, off, n), p.Known(next, 1), due
	}
	v := w.Load()
	return blocks.Run(v, prefaultedShift, first) > last-first, v>>r.knownShift()>>(after%16)&1 != 0, due
}

// flags returns the flags of the block at off: they tell most calls that they find nothing.
func (p *Pages) flags(off int64) blocks.Flag {
	if always {
		return blocks.ForReads | blocks.ForWrites
	}
	if r := p.rec.Load(); r != nil {
		return r.Flags(uint64(off) >> blockBits)
	}
	return 0
}

// begin returns the record, and makes an empty one if there is none.
func (p *Pages) begin() *record {
	if p.rec.Load() == nil {
		p.rec.CompareAndSwap(nil, new(record))
	}
	return p.rec.Load()
}

// word returns the word of a block, and makes it if there is none.
func (p *Pages) word(block int64) *atomic.Uint64 {
	w, moved := p.begin().Add(uint64(block))
	if moved > 0 {
		account.Spend(int64(moved) * prices.Place)
	}
	return w
}

// Note records a property of all pages of n bytes at off. That they are prefaulted comes before that their
// blocks have some: a Sync between the two leaves them to the next one.
func (p *Pages) Note(mark Mark, off, n int64) {
	end := off + n
	for block := off >> blockBits; block <= (end-1)>>blockBits; block++ { // the offset after the last one may be 1<<63
		w, all := p.word(block), blocks.Mask(block, off, end)*uint64(mark)
		old := w.Load()
		if old&all != all {
			old = w.Or(all)
		}
		if mark != Seen {
			p.begin().Flag(blocks.ForReads, uint64(block))
		}
		if mark == Prefaulted {
			if old&(prefaulted|writesMax<<writesShift) == 0 {
				p.begin().Written(uint64(block))
			}
			p.begin().Flag(blocks.ForWrites, uint64(block)) // last: a Sync of a block that has the same one clears it
		}
	}
	if mark != Seen {
		p.begin().Advance(&p.front, readyShift)
	}
}

// Truncated forgets the blocks past the end of a file that has become shorter, and the one
// with the end. The system takes them away from the mapping, which takes as long as its end.
func (p *Pages) Truncated(size int64) {
	if r := p.rec.Load(); r != nil {
		if r.Forget(uint64(size)>>blockBits)&ready != 0 {
			account.Spend(prices.Unmap.Now())
		}
		r.Retreat(&p.front, uint64(size)>>blockBits<<blockBits)
	}
}

// Synced forgets which pages are prefaulted from off to end. When the system writes them
// back, it makes them read-only, so the next write to each faults again.
func (p *Pages) Synced(off, end int64) {
	if r := p.rec.Load(); r != nil {
		r.ClearWritten(prefaulted|writesMax<<writesShift, uint64(off)>>blockBits, (uint64(end)+BlockSize-1)>>blockBits)
	}
}

// Confirm says that a page which was read may be a hole, which a load from the mapping
// would fill. It is ready once the system counts it.
func (p *Pages) Confirm() { p.begin().confirm.Store(true) }
