//go:build !mmapfile_eager

package pages

import "time"

// Eager says whether this build has the eager policy of the tests.
const Eager = false

// These numbers can be tuned. They were measured on ext4, Linux 6.18, with a pread of 4 KiB
// at 0.3 to 1 µs. Each comment names the cost that the number weighs, or the benchmark that
// is slower without it.
const (
	trackFrom = 32 // first call that is recorded: sfnt-open (31 reads) was 15% slower with 16
	mapFrom   = 32 // calls on seen pages before the file is mapped: a mapping, its faults and its end cost 17 µs in a short life, as 40 calls do
	readyFrom = 3  // reads of seen pages in a block before it is ready: its first fault costs 0.6 µs, as one call does

	budgetStart  = 160 * callTime  // nanoseconds that trying may cost at first
	budgetMax    = 1280 * callTime // and at most, whatever was saved
	incomeShare  = 64              // one in 64 parts of each system call's time is added: more loses more, less loses gains
	watchOne     = 8               // one in so many groups of LookEvery calls is recorded in any case: gains that come late
	callMin      = 60              // nanoseconds of a small read, which is measured
	callMax      = 2 * callTime    // one that takes longer has waited for a processor
	measureEvery = 4096            // looks from one measurement of a small read to the next
	recordFree   = 1024            // calls from which a record costs less than that
	mapNeeds     = 40 * callTime   // budget from which a file is mapped: a mapping, and its faults
	mapBlocks    = 4               // blocks that are bought with a mapping: lives of 200 reads
	mapOwn       = 2048            // calls on seen pages from which a file is mapped in any case
	savedMap     = 1024            // mapped calls that are counted for a mapping: mixtures of good and bad lives
	savedBlock   = 64              // and for each block: reads that are scattered
	savedEvery   = 16              // calls from one addition to the budget to the next
	joinedEvery  = 8               // pages that join a block from one that is measured to the next
	restMax      = 2 << 20         // bytes of the rest of a file for which reads in order are predicted
	prefaultOwn  = 32              // times that a block's writes have paid for prefaulting it, if the budget does not
	periodOwn    = 256             // writes from one that begins a period to the next, if the budget is below zero

	savedShare = 14       // each 2^14 bytes of a call count as one more call: rereading in 1 MiB pieces
	orderFrom  = 8        // reads in order before the next ones are predicted: asking the system costs 0.3 µs
	orderMax   = 32 << 10 // bytes of a small read: for longer ones mapping saves nothing
	farBytes   = 4 << 20  // bytes from one question to the next in longer reads
	aheadNeeds = 5        // fourths of the faults' price that mapping what is read ahead has to save
	aheadPrice = mapPrice // and nanoseconds that are to be left if the file is not mapped

	// AheadBytes is the number of bytes that one question to the system covers:
	// bufio.Scanner.
	AheadBytes = 512 << 10

	savingMin  = 600            // nanoseconds that a small mapped write saves at least: random-64B, sync-40x64B-in-64KB
	savingMax  = 16_000         // and at most: a pwrite that waits is not typical
	timedMax   = PageSize       // bytes of a pwrite that is timed
	timedEvery = 8              // pwrites from one that is timed to the next: with large folios one of 64 B takes 9 µs
	firstPrice = 16 * savingMin // nanoseconds for prefaulting a block until that is measured

	// LookEvery is the number of system calls of a file from one look at the major faults
	// to the next: pages-1000.
	LookEvery  = 32
	evictPause = 20 * time.Millisecond  // least time between two looks, and so between evictions
	evictTick  = 250 * time.Millisecond // from one look to the next if all reads are mapped: evicted-random
	evictBlind = 10 * time.Second       // between evictions if the system does not count major faults
)
