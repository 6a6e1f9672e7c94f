package pages

// The prices of events in nanoseconds, measured on Linux 6.18 with ext4 on one host of two cores.
// docs/design.md has most of them; a price that is not there was measured beside it.
const (
	openPrice      = 4_100 // open and close with os.File
	preadPrice     = 430   // and pwrite, of 64 bytes
	perKiB         = 30    // more for each KiB by system call: 28 to 300
	copyPerKiB     = 20    // and from or to the mapping: 20 to 110
	largePerKiB    = 18    // with large folios: 18 to 23 if the processor has them in its caches,
	largeCopy      = 31    // and so
	farCall        = 400   // more for a call at random in a file that is in no cache of the processor,
	farCopy        = 200   // and for a copy,
	farPerKiB      = 150   // and more for each KiB of both
	journalPrice   = 1_500 // more for a write by system call on ext4 of some hosts
	earlyOverhead  = 2     // counting a call; what the depth of the calls costs is not the package's
	hotWords       = 16    // lines of words, or of flags, that are in the first cache of the processor
	recentWords    = 256   // and in any
	hitPrice       = 15    // a read from the mapping
	vainPrice      = 80    // and one that nothing proves, more,
	drawPrice      = 4     // a random number
	storePrice     = 27    // a mapped write
	periodCost     = 2_800 // of mapped writes: fstat, a timer, and the new modification time
	fstatPrice     = 406
	fstatfsPrice   = 448
	rlimitPrice    = 160
	lookPrice      = 50 // the time
	rusagePrice    = 530
	cachestat      = 426
	cachestatBlock = 150 // more for each block: 75 to 270
	nowait         = 461 // preadv2 of one byte
	fadvisePrice   = 200
	firstTable     = 400    // the table and the record
	loadPrice      = 60     // a load that is measured, without its fault
	writeFault     = 900    // a page that is written back since it was prefaulted
	mmapPrice      = 3_000  // PROT_NONE, munlock and mprotect
	regionPrice    = 1_000  // what the File keeps of it, with its cleanup
	revokePrice    = 5_000  // the range taken away at Close, and its end,
	busyRevoke     = 25_000 // or where other processors run the process
	laterPrice     = 9_000  // and what nothing times: memory, page tables, and what is in no cache any more
	smallFault     = 4_280  // 64 KiB with small folios
	largeFault     = 720    // and with large ones
	unmapShare     = 0.6    // to unmap a block, of its fault: 0.4 to 0.65 (0.75 of a file that is in no cache, 0.85 with small folios on tmpfs)
	dirtyShare     = 0.3    // and if it was prefaulted, of that: 0.12 to 0.31, seldom 0.5, but no less than of its fault
	pageFault      = 900    // one page that was added to the file since the fault of its block
	smallPrefault  = 9_000  // 64 KiB made writable, and its pages
	largePrefault  = 1_500
	slowPrefault   = 100_000   // with either, on one host
	firstPrefault  = 45_000    // more for the first one of a process, whose code is in no cache
	diskPrice      = 20_000    // a page that is not in memory
	timeSlice      = 3_000_000 // of another process, on a busy host,
	sliceEvery     = 5_000_000 // as often,
	interrupt      = 20_000    // and other interruptions
	interruptEvery = 500_000
	cacheMiss      = 600   // a write, with either, beside others that use the caches
	syncPrice      = 5_000 // on a tmpfs or a fast device; on a disk it is 90,000
)

// What depends on the cache that a word is in: the first one, another one, or none.
var (
	recordPrices = [3]float64{24, 24, 52} // recording a call, and why it was one
	missPrices   = [3]float64{5, 25, 70}  // finding that a mapping does not have the pages
	flagPrices   = [3]float64{5, 10, 15}  // or that its block has no flag: 8 to 20 beside system calls in 64 MiB to 8 GiB, 12 on average
)
