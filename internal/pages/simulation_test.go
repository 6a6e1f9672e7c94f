package pages

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/blocks"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/reason"
)

// simulation runs calls of Files and prices what they do, for the File and for os.File.
type simulation struct {
	cost, base float64
	calls      int
	opened     int // files
	random     *rand.Rand
	pread      float64 // what a small read by system call takes on this host
	journal    float64 // and a write more
	firstCall  float64 // what the first measure of a system call seems to take, at least
	slow       bool    // prefaulting is, on this host
	first      float64 // what the first prefault takes more
	waits      bool    // the next fault seems to take longer: the processor was taken away
	busy       bool    // some of all events seem to take longer
	share      float64 // what it takes to unmap a block, of its fault
	*simFile           // the open file
	records    int     // calls that were recorded
	words      cache   // lines of words,
	flags      cache   // and of flags
	majors     int64   // page faults that waited for the disk
	due        float64 // when the timer
	timer      func()  // is called
	miscounted []int64 // what the reasons of a file's system calls have too many, or too few
}

// cache has when the lines that the processor has looked at were looked at last.
type cache struct {
	looks int
	last  map[uint64]int
}

// simFile is the Host of one file.
type simFile struct {
	s           *simulation
	id          int
	p           *Pages
	size        int64
	known       int64 // of that: up to here the File knows that there are bytes
	large       bool  // folios
	spans       int64 // blocks that one of them has, if more than one
	memory      bool  // a tmpfs: holes must not be mapped
	far         bool  // it is in no cache of the processor
	zeros       bool  // all of it is zeros, which prove nothing
	unknown     bool  // the system does not report what is in memory
	fails       bool  // it cannot be mapped
	maps        int   // how often that was tried
	refuses     bool  // each third load and prefault fails
	tries       int   // of those
	mapped      bool
	faulted     map[int64]int64 // blocks that the mapping shows, up to the length that the file had then
	dirty       map[int64]bool  // blocks that were prefaulted
	readOnly    map[int64]bool  // pages that another process had written back since they were prefaulted
	resident    map[int64]bool  // blocks in memory; nil for all
	evicted     map[int64]bool  // blocks that the system has taken away from the mapping
	writes      Writes
	ends        float64 // what Close takes to unmap blocks, which cost has already
	period      bool    // of mapped writes
	begins      uint32  // writes that could begin one since the last mapped write
	told        bool    // that the file is read in order
	tells       int     // of that, or of its end
	places      int
	calls       uint64 // system calls
	asked       int    // what is in memory,
	askedBlocks int64  // of so many blocks
	lengths     int    // questions for the length
}

func newSimulation(seed uint64) *simulation {
	account.Set(account.Start)
	if Eager {
		account.Unbound()
	}
	prices.Reset()
	looks.Store(0)
	trialWaits.Store(0)
	s := &simulation{random: rand.New(rand.NewPCG(seed, 0)), pread: preadPrice, share: unmapShare, words: cache{last: map[uint64]int{}}, flags: cache{last: map[uint64]int{}}}
	evictions.Reset(s)
	random = s.random.Uint32
	return s
}

func (s *simulation) MajorFaults() (n int64, ok bool) {
	s.cost += rusagePrice
	return s.majors, true
}

func (s *simulation) Now() time.Duration              { return time.Duration(s.cost) }
func (s *simulation) After(d time.Duration, f func()) { s.due, s.timer = s.cost+float64(d), f }

// tick calls the timer if it is time.
func (s *simulation) tick() {
	if f := s.timer; f != nil && s.cost >= s.due {
		s.timer = nil
		f()
	}
}

// system returns what takes ns nanoseconds in the kernel, where a read takes preadPrice, on this host.
func (s *simulation) system(ns float64) float64 { return ns * s.pread / preadPrice }

func (s *simulation) both(ns float64) { s.cost += ns; s.base += ns }

func (s *simulation) open(size int64, large, memory, cold bool) {
	s.opened++
	s.simFile = &simFile{s: s, id: s.opened, p: new(Pages), size: size, large: large, memory: memory, faulted: map[int64]int64{}, dirty: map[int64]bool{}, readOnly: map[int64]bool{}, evicted: map[int64]bool{}}
	if cold {
		s.resident = map[int64]bool{}
	}
	s.both(openPrice)
}

func (s *simulation) close() {
	if n := total(s.p.Calls(reason.Unpaid)); n != s.simFile.calls {
		s.miscounted = append(s.miscounted, int64(n-s.simFile.calls))
	}
	unmapped := time.Duration(0)
	if s.mapped {
		s.mapped = false
		price := float64(revokePrice)
		if s.slow {
			price = busyRevoke
		}
		s.cost += price + laterPrice
		unmapped = s.timed(price + s.ends)
	}
	s.p.Closed(reason.Unpaid, unmapped)
}

// priced returns what do seems to cost. What else happens in that time happens with os.File, too.
func (f *simFile) priced(do func()) time.Duration {
	before, ends := f.s.cost, f.ends
	do()
	return f.s.timed(f.s.cost - before - (f.ends - ends))
}

// timed returns what an event of ns nanoseconds seems to take.
func (s *simulation) timed(ns float64) time.Duration {
	if s.busy {
		switch at := s.random.Float64() * sliceEvery / (ns + loadPrice); {
		case at < 1:
			ns += timeSlice
		case at < 1+sliceEvery/interruptEvery:
			ns += interrupt
		}
	}
	return time.Duration(ns)
}

func (f *simFile) MapsTo(end int64) bool { return f.mapped && end <= f.known }

func (f *simFile) Map() (time.Duration, bool) {
	f.maps++
	if f.memory {
		f.p.Confirm()
	}
	took := f.priced(func() {
		f.known = f.size
		f.s.cost += fstatPrice + fstatfsPrice + rlimitPrice + mmapPrice
		if !f.fails {
			f.s.cost += regionPrice
			f.mapped = true
			evictions.Watch(func() bool { return f.mapped })
		}
	})
	return took, f.mapped
}

func (f *simFile) Size(off int64) int64 {
	f.lengths++
	if off >= f.known {
		if f.s.cost += f.s.system(fstatPrice); f.known == 0 {
			f.s.cost += f.s.system(fstatfsPrice)
		}
		f.known = f.size
	}
	return f.known
}

func (f *simFile) Load(off int64) time.Duration {
	if f.s.cost += loadPrice; !f.MapsTo(off+1) || f.refused() {
		return 0
	}
	took := f.priced(func() { f.fault(off, 1) })
	if f.s.waits {
		f.s.waits = false
		return took + 50_000
	}
	return max(took, 1) // 0 says that it failed
}

func (f *simFile) InMemory(off, end int64) (bool, error) {
	f.asked++
	f.askedBlocks += (end-1)>>blockBits - off>>blockBits + 1
	if f.unknown {
		return false, errors.ErrUnsupported
	}
	f.s.cost += f.s.system(cachestat + float64((end-off)>>blockBits)*cachestatBlock)
	for block := off >> blockBits; f.resident != nil && block<<blockBits < end; block++ {
		if !f.resident[block] {
			return false, nil
		}
	}
	f.s.cost += f.s.system(nowait)
	return true, nil
}

// inMemory is InMemory, for a call that is timed.
func (f *simFile) inMemory(off, end int64) bool {
	in, err := f.InMemory(off, end)
	f.asked--
	return in || err != nil
}

func (f *simFile) ReadPage(off int64) {
	f.load(off, 1)
	f.s.cost += f.s.pread
	f.p.Note(Ready, off, 1)
}

func (f *simFile) InOrder(on bool) {
	if f.told != on {
		f.s.cost += fadvisePrice
		f.told = on
		f.tells++
	}
}

func (f *simFile) TimeCall(int64) time.Duration {
	took := max(f.s.pread, f.s.firstCall)
	f.s.firstCall = 0
	f.s.cost += 3 * f.s.pread
	return time.Duration(took)
}

func (f *simFile) Prefault(off, _ int64) (took time.Duration, ok bool) {
	if f.refused() {
		return f.priced(func() { f.s.cost += largePrefault }), false
	}
	block := off >> blockBits
	from, next := block<<blockBits, (block+1)<<blockBits
	if !f.p.Known(from, BlockSize) {
		f.s.cost += f.s.system(cachestat)
	}
	took = f.priced(func() {
		f.s.cost += f.s.first + f.prefaultPrice()
		f.s.first = 0
		if next < f.size {
			f.fault(next, 1) // the proof
		}
	})
	f.p.Note(Prefaulted, from, min(BlockSize, f.size-from))
	if f.faulted[block] == 0 {
		f.unmaps(f.endPrice())
	}
	if !f.dirty[block] {
		f.unmaps(f.dirtyMore())
		f.dirty[block] = true
	}
	f.faulted[block] = f.size
	for page := range int64(16) {
		delete(f.readOnly, block*16+page)
	}
	return took, true
}

func (f *simFile) refused() bool {
	f.tries++
	return f.refuses && f.tries%3 == 0
}

func (f *simFile) faultPrice() float64 {
	if f.large {
		return largeFault
	}
	return smallFault
}

func (f *simFile) prefaultPrice() float64 {
	switch {
	case f.s.slow:
		return slowPrefault
	case f.large:
		return largePrefault
	}
	return smallPrefault
}

// endPrice is what it takes to unmap a block.
func (f *simFile) endPrice() float64 {
	return f.s.share * f.faultPrice()
}

// dirtyMore is what it takes more to unmap a block because it was prefaulted: as much again, if that is dear.
func (f *simFile) dirtyMore() float64 {
	once := f.endPrice()
	return max(min(dirtyShare*f.prefaultPrice(), 2*once)-once, 0)
}

// unmaps adds what it takes to unmap a block.
func (f *simFile) unmaps(ns float64) {
	f.ends += ns
	f.s.cost += ns
}

// fault maps the blocks of n bytes at off. What is not in memory is a major fault. The bound leaves out faults that
// an eviction has caused.
func (f *simFile) fault(off, n int64) {
	for block := off >> blockBits; block<<blockBits < off+n; block++ {
		if shown := f.faulted[block]; shown == 0 {
			for first, i := block/max(f.spans, 1)*f.spans, int64(0); i < f.spans; i++ {
				f.faulted[first+i] = f.size
			}
			f.s.cost += f.faultPrice() * float64(max(f.spans, 1))
			f.unmaps(f.endPrice())
			if f.evicted[block] {
				f.s.base += f.faultPrice() + f.endPrice()
				delete(f.evicted, block)
			}
			if f.resident != nil && !f.resident[block] {
				f.s.majors++
			}
			f.load(block<<blockBits, 1)
		} else if min(off+n, (block+1)<<blockBits) > shown {
			f.s.cost += pageFault
		} else {
			continue
		}
		f.faulted[block] = f.size
	}
}

// load waits for the disk, with either.
func (f *simFile) load(off, n int64) {
	for block := off >> blockBits; f.resident != nil && block<<blockBits < off+n; block++ {
		if !f.resident[block] {
			f.resident[block] = true
			f.s.both(diskPrice)
		}
	}
}

// evict has the system take the file's pages away. That is noticed later, by a major fault, or never, if system
// calls have read them again.
func (f *simFile) evict() {
	for block := range f.faulted {
		f.evicted[block] = true
	}
	f.resident, f.faulted, f.ends = map[int64]bool{}, map[int64]int64{}, 0
}

// look returns one of the prices of a look at a line, by what cache of the processor it is in.
func (c *cache) look(line uint64, prices [3]float64) float64 {
	c.looks++
	last, ok := c.last[line]
	c.last[line] = c.looks
	switch age := c.looks - last; {
	case !ok || age > recentWords:
		return prices[2]
	case age > hotWords:
		return prices[1]
	}
	return prices[0]
}

// word prices a look at the word of a block: a line has eight.
func (s *simulation) word(off int64, prices [3]float64) float64 {
	return s.words.look(uint64(off)>>blockBits/8|uint64(s.id)<<32, prices)
}

// flag prices a look at the flags of a block: a line has those of 128.
func (s *simulation) flag(off int64) float64 {
	return s.flags.look(uint64(off)>>blockBits/128|uint64(s.id)<<32, flagPrices)
}

// miss prices a search that finds nothing, or the draw that there is none.
func (s *simulation) miss(f blocks.Flag, off, n int64) float64 {
	switch {
	case s.p.flags(off)&f == 0:
		return s.flag(off)
	case n >= Long && f == blocks.ForReads:
		if saves, _ := s.p.saving(n); !copyPays(saves) {
			return drawPrice + missPrices[2]/dearEvery
		}
	}
	return s.word(off, missPrices)
}

// record prices the record of a call, and of what the table has grown.
func (s *simulation) record(off int64) {
	r := s.p.rec.Load()
	if r == nil || s.p.state.Load()&recorded == 0 {
		return
	}
	s.records++
	s.cost += s.word(off, recordPrices)
	if places := r.Places(); places > s.places {
		if s.places == 0 {
			s.cost += firstTable
		}
		s.cost += prices.Place * float64(places-s.places)
		s.places = places
	}
	if s.p.state.Load()>>callsShift%LookEvery == 0 {
		s.cost += lookPrice
	}
}

// bytes prices those of a call, by system call and from or to the mapping.
func (f *simFile) bytes(n int64) (call, mapped float64) {
	if f.far {
		more := float64(n) * farPerKiB / 1024
		call, mapped = farCall+more, farCopy+more
	}
	if f.large {
		return call + float64(n)*largePerKiB/1024, mapped + float64(n)*largeCopy/1024
	}
	return call + float64(n)*perKiB/1024, mapped + float64(n)*copyPerKiB/1024
}

func (s *simulation) read(off, n int64) {
	bytes, copied := s.bytes(n)
	s.tick()
	s.calls++
	s.base += s.pread + bytes
	page := (off + n + PageSize - 1) &^ (PageSize - 1) // the next one
	how := System
	if s.mapped {
		how = s.p.Draw(off, int(n), true)
		if how == System {
			s.cost += s.miss(blocks.ForReads, off, n)
		}
	}
	switch how {
	case TimedRead:
		in := n < Long || s.inMemory(off, off+n)
		if n < Long {
			s.cost += s.pread // the call before it
		}
		before, took := s.cost, time.Duration(0)
		s.load(off, n)
		s.cost += s.pread + bytes
		s.simFile.calls++
		if in {
			took = s.timed(s.cost - before)
		}
		s.p.Took(how, n, took)
		s.cost += loadPrice
		return
	case Copy, TimedCopy:
		proven := !s.zeros
		took := s.priced(func() {
			s.cost += hitPrice + copied
			s.fault(off, n)
			if s.zeros && page < s.size && s.p.Proves(page) {
				s.fault(page, 1)
				proven = true
			}
		})
		if how == TimedCopy {
			s.cost += loadPrice
			s.p.Took(how, n, took)
		}
		if proven {
			return
		}
		s.cost += vainPrice
	}
	s.load(off, n)
	s.simFile.calls++
	s.cost += s.pread + bytes
	if s.cost += earlyOverhead; s.p.Early(int(n), how != System) {
		return
	}
	s.p.Read(s.simFile, off, n, false, how != System) // a read that ends where the file does is not short
	s.record(off)
}

func (s *simulation) write(off, n int64) {
	bytes, copied := s.bytes(n)
	s.tick()
	s.calls++
	call := s.pread + s.journal + bytes
	s.base += call
	if s.mapped {
		prefaulted, _, due := s.p.PrefaultedBefore(off+n, off, int(n))
		if !prefaulted {
			s.cost += s.miss(blocks.ForWrites, off, n)
			if due && account.Affords(prices.Prefault.Now()) {
				s.cost += s.word(off, missPrices)
			}
		}
		prefaulted = prefaulted || due && s.p.Prefault(s.simFile, off, int(n))
		timed := false
		if prefaulted && s.period {
			timed = s.writes.Count(int(n))
		}
		switch {
		case prefaulted && !s.period:
			if BeginsPeriod(func() uint32 { s.begins++; return s.begins }) {
				s.period = true
				s.cost += s.system(periodCost)
			}
		case prefaulted:
			s.begins = 0
			took := s.priced(func() {
				s.cost += storePrice + copied
				if s.busy && s.random.IntN(30) == 0 {
					s.both(cacheMiss)
				}
				if next := (off + n + PageSize - 1) &^ (PageSize - 1); next < s.size {
					s.fault(next, 1) // the proof
				}
				for page := off >> pageBits; page<<pageBits < off+n; page++ {
					if s.readOnly[page] {
						s.cost += writeFault
						delete(s.readOnly, page)
					}
				}
			})
			if timed {
				s.cost += loadPrice
				s.p.Timed(&s.writes, int(n), took)
			}
			return
		}
	}
	s.load(off, n)
	s.simFile.calls++
	if s.cost += call; s.mapped && s.p.TimesWrite(int(n)) {
		s.cost += loadPrice
		s.p.Took(Write, n, s.timed(call))
	}
	if s.cost += earlyOverhead; s.p.Early(int(n), false) {
		return
	}
	known := s.known
	s.known = max(known, off+n)
	s.p.Write(s.simFile, off, n, known, reason.None)
	s.record(off)
}

func (s *simulation) sync() {
	s.both(syncPrice)
	s.p.Synced(0, math.MaxInt64)
	s.period = false
}

// lifeBytes is the number of bytes that describe a life, repeated some times.
const lifeBytes = 8

// What happens to the file of a life, beside its calls.
const (
	evicted     = 1 + iota // the system takes its pages away, each 500 calls
	syncedByOne            // another process has it written back, each 100 calls
	unmappable
	unreported // the system does not tell what is in memory
	inTurns    // three files are read and written in turns
	growing    // by a page each 8 calls, up to four times its size
	refusing   // each third load and prefault fails
)

// run runs the program that the bytes describe.
func (s *simulation) run(program []byte) {
	const callsMax = 60_000
	if len(program) >= lifeBytes && program[6]&16 != 0 { // a host with fast system calls
		s.pread = preadPrice / 2
	}
	s.slow = len(program) >= lifeBytes && program[6]&32 != 0
	if len(program) >= lifeBytes && program[6]&192 == 128 {
		s.journal = journalPrice
	}
	for calls := 0; len(program) >= lifeBytes && calls < callsMax; program = program[lifeBytes:] {
		b := program[:lifeBytes]
		size := int64(512) << (b[0] % 18) // to 64 MiB
		life := int(math.Exp2(float64(b[1]) / 19))
		n := min(int64(math.Exp2(float64(b[2])/16)), size) // to 64 KiB
		pattern, event, repeat := b[3]%6, b[3]/6%8, 1+int(b[4])
		writes, sync := [8]int{0, 0, 0, 0, 5, 40, 90, 100}[b[5]%8], [4]int{0, 0, 20, 300}[b[5]/8%4]
		large, memory, cold := b[6]&1 != 0, b[6]&2 != 0, b[6]&12 == 12
		step := BlockSize >> (b[7] % 5)
		short, longEvery := n, 0 // calls from one of 64 KiB to the next
		switch b[5] >> 5 {
		case 6:
			short = min(n<<6, size) // to 4 MiB
		case 7:
			longEvery = 1 + int(b[7])%40
		}
		for ; repeat > 0 && calls < callsMax; repeat-- {
			files := make([]*simFile, 1)
			if event == inTurns {
				files = make([]*simFile, 3)
			}
			for i := range files {
				s.open(size, large, memory, cold)
				s.zeros, s.fails, s.unknown = b[6]&192 == 192, event == unmappable, event == unreported
				s.refuses, s.far = event == refusing, b[5]>>5 == 5
				files[i] = s.simFile
			}
			var next int64
			for i := range life {
				s.simFile = files[i%len(files)]
				switch {
				case event == evicted && i%500 == 499:
					s.evict()
				case event == syncedByOne && i%100 == 99:
					for block := range s.faulted {
						for page := range int64(16) {
							s.readOnly[block*16+page] = true
						}
					}
				case event == growing && i%8 == 7 && s.size < 4*size:
					s.size += PageSize
					s.write(s.size-PageSize, PageSize)
				}
				if n = short; longEvery > 0 && i%longEvery == longEvery-1 {
					n = min(BlockSize, s.size)
				}
				var off int64
				switch last := s.size - n; pattern {
				case 0: // in order
					if next > last {
						next = 0
					}
					off, next = next, next+n
				case 1:
					off = s.random.Int64N(last + 1)
				case 2: // one place
					off = last / 2
				case 3: // laps
					if off = next; next > last {
						off = 0
					}
					next = off + int64(step)
				case 4: // few blocks
					off = min(int64(s.random.IntN(1+int(b[7])))*BlockSize, last)
				case 5: // mostly the same blocks
					off = int64(float64(last) * math.Pow(s.random.Float64(), 1+float64(b[7])/16))
				}
				if s.random.IntN(100) < writes {
					s.write(off, n)
				} else {
					s.read(off, n)
				}
				if sync > 0 && i%sync == sync-1 {
					s.sync()
				}
				if calls += 1 + int(n>>18); calls >= callsMax {
					break
				}
			}
			for _, f := range files {
				s.simFile = f
				s.close()
			}
		}
	}
}

// allowed is what the package promises, which its comment states.
func (s *simulation) allowed() float64 {
	const (
		share  = 1.0 / 32
		call   = 20
		trial  = 45_000 // a mapping, and the blocks that are read ahead
		trials = 2
	)
	allowed := s.base*(1+share) + float64(s.calls)*call + account.Start + trials*trial
	if s.slow {
		// Of two blocks and the page after them, and what the first one takes above what counts.
		allowed += 2*slowPrefault + smallFault + slowPrefault + smallFault - account.Start/2
	}
	return allowed
}

func total(c reason.Counts) (n uint64) {
	for _, calls := range c {
		n += calls
	}
	return n
}

func simulate(program []byte) *simulation {
	s := newSimulation(uint64(len(program)))
	s.run(program)
	return s
}

func randomProgram(r *rand.Rand) []byte {
	program := make([]byte, lifeBytes*(1+r.IntN(12)))
	for i := range program {
		program[i] = byte(r.IntN(256))
	}
	return program
}

func mutate(r *rand.Rand, program []byte) []byte {
	program = append([]byte(nil), program...)
	switch r.IntN(4) {
	case 0: // a life twice, or a new one
		at := r.IntN(len(program)/lifeBytes) * lifeBytes
		program = append(program, program[at:at+lifeBytes]...)
	case 1:
		if len(program) > lifeBytes {
			at := r.IntN(len(program)/lifeBytes) * lifeBytes
			program = append(program[:at], program[at+lifeBytes:]...)
		}
	default:
		for range 1 + r.IntN(2) {
			at := r.IntN(len(program))
			if r.IntN(2) == 0 {
				program[at] = byte(r.IntN(256))
			} else {
				program[at] += byte(r.IntN(9) - 4)
			}
		}
	}
	return program
}

// TestMain gives the tests of the rest an account that they do not exhaust.
func TestMain(m *testing.M) {
	account.Unbound()
	m.Run()
}

// programs is n, or fewer: under the race detector, which finds nothing in one goroutine, and with -short, since the
// arithmetic is the same on all platforms.
func programs(n int) int {
	if race.Detector {
		n = (n + 5) / 6
	}
	if testing.Short() {
		n = (n + 5) / 6
	}
	return n
}

// leftOut reports whether programs leaves out the case i of many that are alike.
func leftOut(i int) bool { return i%(36/programs(36)) > 0 }

func checkBound(t *testing.T, program []byte) {
	t.Helper()
	defer account.Unbound()
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	s := simulate(program)
	if len(s.miscounted) > 0 {
		t.Errorf("%v: system calls were counted, or not, too often: %d", program, s.miscounted)
	}
	if s.cost > s.allowed() {
		t.Errorf("%v: %.0f ns, %.0f with os.File: %.0f more than allowed", program, s.cost, s.base, s.cost-s.allowed())
	}
}

func TestAccount_RandomPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range programs(300) {
		checkBound(t, randomProgram(r))
	}
}

// Hosts differ by more than a factor of two.
func TestAccount_SlowHosts(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	r := rand.New(rand.NewPCG(4, 0))
	for i := range programs(120) {
		program := randomProgram(r)
		for life := 0; life < len(program); life += lifeBytes {
			program[life+6] &^= 16 // a fast host
		}
		s := newSimulation(uint64(len(program)))
		s.pread = []float64{1_000, 2_000}[i%2]
		if s.run(program); s.cost > s.allowed() {
			t.Errorf("system calls of %.0f ns, %v: %.0f ns, %.0f with os.File: %.0f more than allowed", s.pread, program, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// On a busy host, what seems to take longer is no reason to try more.
func TestAccount_BusyPrograms(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	r := rand.New(rand.NewPCG(2, 0))
	all := [][]byte{{0xf8, 0xc2, 0x32, 0x57, 0x6b, 0xc9, 0x4b, 0xb0}} // small writes that two waits have made dear
	for range programs(150) {
		all = append(all, randomProgram(r))
	}
	for _, program := range all {
		s := newSimulation(uint64(len(program)))
		s.busy = true
		if s.run(program); s.cost > s.allowed() {
			t.Errorf("%v: %.0f ns, %.0f with os.File: %.0f more than allowed", program, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// The account is that of all files: records of one do not take what a trial of another waits for. Nor do loads of a large
// one take all of it.
func TestAccount_OfTwoFiles(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for _, c := range []struct {
		mapped bool
		calls  uint64
		limit  float64
	}{
		{false, 50_000, 0.95},
		{true, 130_000, 1.03},
	} {
		const seeds = 4
		cost, base, writes := 0.0, 0.0, uint64(0)
		for seed := range uint64(seeds) {
			s := newSimulation(seed)
			s.open(16*BlockSize, false, false, false)
			a := s.simFile
			s.open(16384*BlockSize, false, false, false)
			b := s.simFile
			b.fails = !c.mapped
			account.Set(12_000)
			for i := range 200_000 {
				s.simFile = a
				s.write(s.random.Int64N(a.size-64), 64)
				if i%2000 == 1999 {
					s.sync()
				}
				s.simFile = b
				s.read(s.random.Int64N(b.size-64), 64)
			}
			cost, base, writes = cost+s.cost, base+s.base, writes+a.calls
		}
		if t.Logf("%+v: %.2f of os.File", c, cost/base); writes > seeds*c.calls || cost > c.limit*base {
			t.Errorf("%+v: %.2f of os.File, and %d of %d writes were system calls", c, cost/base, writes, seeds*200_000)
		}
	}
}

// Prefaults that are cheap for one file and dear for the other are paid in full.
func TestPrefault_UnlikeFiles(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, writes := range []int{12, 16} {
		s := newSimulation(1)
		var files [2]*simFile
		for i := range files {
			s.open(2048*BlockSize, i == 0, false, false)
			files[i] = s.simFile
		}
		for i := range 20_000 {
			for _, s.simFile = range files {
				for range writes {
					s.write(int64(i%2048)*BlockSize+s.random.Int64N(BlockSize-64), 64)
				}
				if i%200 == 199 {
					s.sync()
				}
			}
		}
		if t.Logf("%.2f", s.cost/s.base); s.cost > s.allowed() {
			t.Errorf("%d writes of each block: %.0f ns, %.0f with os.File: %.0f more than allowed", writes, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// Those of one file are dear, and most come after some of another one that are cheap.
func TestPrefault_DearBesideCheap(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, blocks := range []int64{512, 4096} {
		for _, turns := range []int{4, 8, 16} { // from one Sync to the next
			s := newSimulation(1)
			s.pread = 350
			s.open(blocks*BlockSize, false, false, false)
			dear := s.simFile
			s.open(6*BlockSize, true, false, false)
			cheap := s.simFile
			off := int64(0)
			for i := 0; s.base < 20e6; i++ {
				s.simFile = dear
				n := int64(8192)
				if i%2 == 1 {
					n = 512
				}
				if off+n > s.size {
					off = 0
				}
				s.write(off, n)
				off += n
				s.simFile = cheap
				for range 3 {
					s.write(s.size/2, 576)
				}
				if i%turns == turns-1 {
					s.sync()
				}
			}
			for _, s.simFile = range []*simFile{dear, cheap} {
				s.close()
			}
			if t.Logf("%.2f", s.cost/s.base); s.cost > s.allowed() {
				t.Errorf("%d blocks, a Sync each %d: %.0f ns, %.0f with os.File: %.0f more than allowed", blocks, turns, s.cost, s.base, s.cost-s.allowed())
			}
		}
	}
}

// A long write is not a trial of all its blocks at a price that is believed.
func TestPrefault_LongWrites(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, slow := range []bool{false, true} {
		for n := int64(BlockSize); n <= 16<<20; n *= 4 {
			for calls := 3; calls < 400; calls += 1 + calls/3 {
				s := newSimulation(1)
				s.slow = slow
				s.open(max(2*n, 8<<20), false, false, false)
				for range calls {
					s.write(s.random.Int64N(s.size-n)&^(PageSize-1), n)
				}
				s.close()
				if s.cost > s.allowed() {
					t.Errorf("slow %v, %d writes of %d bytes: %.0f ns, %.0f with os.File: %.0f more than allowed", slow, calls, n, s.cost, s.base, s.cost-s.allowed())
				}
			}
		}
	}
}

// Mapped writes of which half are faults lose little each, and which of them are timed is chance.
func TestTimed_HalfAreFaults(t *testing.T) {
	for life := byte(214); life < 232; life++ {
		for i := range programs(60) {
			checkBound(t, []byte{48, life, 48, 65, 0, 39, 65, byte(i * 4)})
		}
	}
}

// A look adds a share of what the file's calls are believed to take, which for writes may be ten times as long. If none of
// them was timed, they may be those of another file, and two hot reads count.
func TestWrite_EarnsItsShare(t *testing.T) {
	defer account.Unbound()
	for _, c := range []struct{ price, own, counts int64 }{
		{preadPrice, 0, preadPrice}, {10 * preadPrice, 0, 2 * preadPrice},
		{10 * preadPrice, 10 * preadPrice, 10 * preadPrice}, {100 * preadPrice, preadPrice, preadPrice},
	} {
		s := newSimulation(1)
		s.open(BlockSize, true, false, false)
		s.write(0, 64)
		if c.own > 0 {
			s.p.Took(Write, 64, time.Duration(c.own))
		}
		prices.Call.Set(preadPrice)
		prices.Write.Set(c.price)
		account.Set(-account.Start) // nothing is tried
		for range LookEvery {
			s.write(0, 64)
		}
		if got, want := account.Balance()+account.Start, LookEvery*c.counts/incomeShare; got != want && !Eager {
			t.Errorf("%+v: they earn %d, want %d", c, got, want)
		}
	}
}

// What writes take in another file, as those into large folios after a Sync do, says nothing of what a prefault saves here.
func TestWrite_DearInAnotherFile(t *testing.T) {
	defer account.Unbound()
	for _, n := range []int64{64, 1 << 10, 4 << 10, 8 << 10, 32 << 10} {
		for _, large := range []bool{false, true} {
			s := newSimulation(1)
			s.open(1024*BlockSize, large, false, false)
			account.Set(account.Max)
			prices.Call.Set(preadPrice)
			for range 2 {
				for off := int64(0); off < min(s.size, 20_000*n); off += n {
					prices.Write.Set(70 * preadPrice)
					s.write(off, n)
				}
				s.sync()
			}
			allowed := s.allowed() + account.Max - account.Start
			if t.Logf("%d bytes, large folios %v: %.2f of os.File", n, large, s.cost/s.base); (s.cost > allowed || n >= Long && s.cost > 1.1*s.base) && !Eager {
				t.Errorf("%d bytes, large folios %v: %.2f of os.File, %.0f ns more than allowed", n, large, s.cost/s.base, s.cost-allowed)
			}
		}
	}
}

// Files of unlike folios are read and written in turns, each in calls of one or two sizes.
func TestAccount_UnlikeFiles(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	sizes := []int64{64, 4096, 8191, 8192, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 512 << 10, 2 << 20}
	seeds := []uint64{5522} // with one price for all reads of 512 KiB and more, it is over
	for seed := range uint64(programs(300)) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		r, s := rand.New(rand.NewPCG(4, seed)), newSimulation(seed)
		s.pread = []float64{preadPrice, preadPrice / 2}[r.IntN(2)]
		s.journal = []float64{0, journalPrice}[r.IntN(2)]
		type file struct {
			*simFile
			sizes        [2]int64
			times, write int
		}
		files := make([]file, 1+r.IntN(3))
		for i := range files {
			s.open(int64(32+r.IntN(64))*BlockSize, r.IntN(2) == 0, r.IntN(4) == 0, false)
			s.zeros = r.IntN(5) == 0
			files[i] = file{s.simFile, [2]int64{sizes[r.IntN(len(sizes))], sizes[r.IntN(len(sizes))]}, 1 + r.IntN(8), []int{0, 0, 5, 100}[r.IntN(4)]}
		}
		for s.base < 60e6 && s.calls < 40_000 {
			for _, f := range files {
				s.simFile = f.simFile
				for i := range f.times {
					n := f.sizes[i%2]
					off := s.random.Int64N(s.size-n+1) &^ (min(n, PageSize) - 1)
					if s.random.IntN(100) < f.write {
						s.write(off, n)
					} else {
						s.read(off, n)
					}
				}
			}
		}
		if s.cost > s.allowed() {
			t.Errorf("seed %d: %.0f ns, %.0f with os.File: %.0f more than allowed", seed, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// Reads of the end of a far file of zeros, which nothing proves, beside reads of a hot file, whose savings would pay for
// one vain copy after the other. Copies of all of a small one take far more than those that are measured.
func TestAccount_FarZerosBesideHotFile(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	type reads struct{ size, n int64 }
	var cases [][2]reads
	for _, n := range []int64{64, PageSize, Long, BlockSize, AheadBytes, 2 << 20} {
		cases = append(cases, [2]reads{{4 << 20, n}, {4 << 20, n}})
	}
	for _, n := range []int64{64, 911, 2_000, 4_000, Long} {
		cases = append(cases, [2]reads{{4 * BlockSize, 572}, {n, n}})
	}
	tried := -1
	for _, c := range cases {
		for _, order := range [][]int{{0, 0, 1}, {0, 1}, {1, 0}} {
			for _, large := range []bool{false, true} {
				for _, pread := range []float64{preadPrice / 2, preadPrice} {
					if tried++; leftOut(tried) {
						continue
					}
					s := newSimulation(1)
					s.pread = pread
					var files [2]*simFile
					for i := range files {
						s.open(c[i].size, large, false, false)
						s.far, s.zeros = i == 1, i == 1
						files[i] = s.simFile
					}
					for s.base < 60e6 {
						for _, i := range order {
							s.simFile = files[i]
							off := s.size - c[i].n
							if c[0].n < c[0].size/100 {
								off = s.random.Int64N(off + 1)
							}
							s.read(off, c[i].n)
						}
					}
					if s.cost > s.allowed() {
						t.Errorf("%v in the order %v, large folios %v, where a call takes %.0f: %.0f ns, %.0f with os.File: %.0f more than allowed", c, order, large, pread, s.cost, s.base, s.cost-s.allowed())
					}
				}
			}
		}
	}
}

// Writes of a hot file, in turns with calls at random of a far one: what a write of the hot one saves is not what one of the
// other takes. Nor is the end of a block what it is elsewhere: only Close tells.
func TestAccount_HotWritesBesideFarFile(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	type file struct {
		size, n int64
		calls   int // of a turn
	}
	small := file{2 * BlockSize, 64, 1}
	tried := -1
	for _, c := range []struct {
		far   file
		large bool
		life  int // of the far one
		hot   file
		share float64
		pread float64
	}{
		{file{2 << 30, 8, 1}, false, math.MaxInt, small, unmapShare, preadPrice},
		{file{100 << 20, 8, 1}, false, 2_000, small, unmapShare, preadPrice},
		{file{100 << 20, 8, 1}, false, 2_000, small, 0.75, preadPrice},
		{file{100 << 20, 8, 1}, false, 2_000, small, 1, preadPrice},
		{file{64 << 20, 1 << 10, 183}, false, 640, file{2 << 20, 1 << 10, 100}, unmapShare, preadPrice / 2},
		{file{64 << 20, 4 << 10, 183}, true, 640, file{2 << 20, 4 << 10, 100}, unmapShare, preadPrice},
		{file{64 << 20, 8 << 10, 183}, false, 640, file{2 << 20, 8 << 10, 100}, unmapShare, preadPrice / 2},
		{file{64 << 20, 8 << 10, 183}, false, 640, file{2 << 20, 8 << 10, 14}, unmapShare, 1_000},
		{file{64 << 20, 16 << 10, 183}, true, 640, file{2 << 20, 16 << 10, 14}, unmapShare, preadPrice},
	} {
		for _, times := range []int{2, 3} { // that each offset is read
			for _, writes := range []int{3, 10} { // of 100 calls of the far one
				if tried++; leftOut(tried) {
					continue
				}
				s := newSimulation(1)
				s.share, s.pread = c.share, c.pread
				s.open(c.hot.size, true, false, false)
				hot := s.simFile
				var far *simFile
				off := int64(0)
				for i := 0; s.base < 120e6; i++ {
					if s.simFile = far; i%c.life == 0 {
						if far != nil {
							s.close()
						}
						s.open(c.far.size, c.large, false, false)
						s.far, far = true, s.simFile
					}
					if i%times == 0 {
						off = s.random.Int64N(far.size - c.far.n)
					}
					if s.random.IntN(100) < writes {
						s.write(off, c.far.n)
					} else {
						s.read(off, c.far.n)
					}
					if s.simFile = hot; i%c.far.calls == 0 {
						for range c.hot.calls {
							s.write(s.random.Int64N(s.size/2-c.hot.n), c.hot.n)
						}
					}
				}
				if t.Logf("%+v, %d reads of an offset, %d%% writes: %.2f", c, times, writes, s.cost/s.base); s.cost > s.allowed() {
					t.Errorf("%+v, %d reads of an offset, %d%% writes: %.0f ns, %.0f with os.File: %.0f more than allowed", c, times, writes, s.cost, s.base, s.cost-s.allowed())
				}
			}
		}
	}
}

// What a system call takes is known soon: where it takes 2 µs, the questions and periods of the first 2,000 would be paid
// as if it took 430 ns.
func TestLook_SlowHost(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.pread = 2_000
	s.open(1<<20, false, false, false)
	for range 3 * LookEvery {
		s.read(s.random.Int64N(s.size-64), 64)
	}
	if now := prices.Call.Now(); now != 2_000 {
		t.Errorf("a system call is believed to take %d ns", now)
	}
}

// What is drawn by chance does not decide whether a program is inside: those whose pages are evicted, or prove nothing,
// and of few long calls, once were for few seeds only.
func TestAccount_OtherSeeds(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, program := range [][]byte{
		{48, 193, 48, 57, 48, 48, 216, 49},
		{50, 255, 211, 57, 48, 211, 49, 56},
		{48, 224, 219, 112, 48, 169, 221, 48},
		{33, 177, 177, 57, 48, 201, 49, 56},
		{98, 218, 255, 57, 0, 48, 218, 50},
		{48, 255, 48, 89, 48, 165, 88, 48},                                 // a far file that grows
		{48, 57, 48, 48, 48, 48, 65, 48, 65, 255, 48, 46, 48, 48, 192, 88}, // zeros of which some pages cannot be loaded
		{195, 155, 204, 220, 1, 192, 89, 26},                               // 290 reads of 440 KB
		{97, 255, 232, 48, 0, 39, 49, 48},                                  // writes of 23 KB that lose little
		{48, 198, 198, 48, 0, 198, 89, 48},
		{49, 120, 255, 48, 0, 200, 49, 48}, // 79 of 4 MB
		{89, 255, 48, 35, 48, 48, 23, 33},  // three files in turns, whose words are in no cache together
		{89, 255, 88, 35, 48, 37, 66, 48},  // and with writes
		{48, 220, 48, 65, 0, 39, 65, 50},   // small writes that another process has written back each 100 calls
		{89, 220, 48, 65, 0, 39, 66, 50},
		{89, 251, 225, 49, 48, 56, 65, 48},  // 9,470 reads of 17 KB a life
		{50, 255, 255, 33, 48, 38, 152, 48}, // long writes of three files in turns, on a host with a journal
		{124, 205, 237, 239, 98, 207, 148, 16},
		{50, 184, 48, 57, 48, 48, 65, 57, 48},                                       // pages that are evicted, where each 32nd read waits for the disk
		{88, 255, 255, 89, 48, 38, 66, 48},                                          // long writes of a file that grows: its last block is prefaulted page after page
		{109, 138, 64, 240, 33, 189, 215, 91, 240, 181, 240, 31, 173, 134, 35, 136}, // writes of 32 KB that lose, whose size was never timed
		{159, 102, 249, 74, 24, 189, 64, 166, 97, 120, 255, 48, 48, 38, 65, 48},     // those of another file, which were dear
		{153, 3, 250, 160, 102, 250, 129, 35, 230, 200, 26, 196, 57, 253, 98, 250},  // writes of 6 bytes among those of 64 KiB, which are those that are timed
		{80, 200, 255, 31, 2, 172, 89, 61, 61, 128, 255, 61, 61, 61, 61, 22},        // long calls of near files, after those of three whose bytes are in no cache
		{50, 220, 59, 49, 0, 15, 128, 134},                                          // 3,060 small writes at random, whose prefaults end with Close
		{48, 224, 224, 89, 0, 39, 0, 0},                                             // and 3,540 of 16 KB in a file that grows
		{48, 255, 48, 88, 88, 75, 255, 122},                                         // short reads of zeros in a file that grows, whose pages join one by one
		{33, 200, 255, 64, 19, 196, 81, 196},                                        // calls of 4 MiB, of which one of 20 is a write: few of those are timed
		{88, 253, 48, 12, 0, 255, 128, 92},                                          // writes in order, whose prefaults end with Close, in a file of which nothing was loaded
		{33, 218, 218, 247, 0, 96, 2, 0},                                            // reads of 12.7 KB of pages that are evicted, of which those that are timed wait for the disk
		{48, 174, 191, 150, 255, 233, 0, 233},                                       // reads in order in laps, which find blocks mapped that they read ahead
		{69, 117, 251, 2, 86, 166, 99, 135, 101, 255, 255, 22, 22, 22, 237, 255},    // writes of 64 KiB of a file that cannot be mapped, after those of a far one
	} {
		for seed := range uint64(programs(10)) {
			s := newSimulation(seed)
			s.run(program)
			if s.cost > s.allowed() {
				t.Errorf("%v, seed %d: %.0f ns, %.0f with os.File: %.0f more than allowed", program, seed, s.cost, s.base, s.cost-s.allowed())
			}
		}
	}
}

// What mapped calls save is counted of a few of them, drawn at random. No luck in that takes a program over the bound.
func TestAccount_Chance(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	all := [][]byte{{48, 127, 127, 0, 3, 17, 0, 0}} // four lives, each of which may be mapped by reading ahead
	for size := byte(142); size < 180; size += 6 {  // small writes that another process has written back: two of five are faults
		all = append(all, []byte{48, 220, size, 65, 0, 39, 66, 35})
	}
	check := func(program []byte, seed uint64) {
		s := newSimulation(seed)
		if s.run(program); s.cost > s.allowed() {
			t.Errorf("%v, seed %d: %.0f ns, %.0f with os.File: %.0f more than allowed", program, seed, s.cost, s.base, s.cost-s.allowed())
		}
	}
	for _, program := range all {
		for seed := range uint64(programs(240)) {
			check(program, seed)
		}
	}
	for seed, size := range map[uint64]byte{1609: 154, 2742: 172, 3179: 178} { // over, if no write is timed soon after one that lost
		check([]byte{48, 220, size, 65, 0, 39, 66, 35}, seed)
	}
}

// The first measure of a system call may take far longer than the others: while another goroutine has a lock of the file, or
// the process is traced.
func TestAccount_FirstCallIsSlow(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, pread := range []float64{preadPrice / 2, preadPrice, 2_000} {
		s := newSimulation(1)
		s.pread, s.firstCall = pread, 100_000
		s.open(1<<30, false, false, false)
		for s.base < 60e6 {
			s.read(s.random.Int64N(s.size-64), 64)
		}
		s.close()
		if s.cost > s.allowed() {
			t.Errorf("calls of %.0f ns: %.0f ns, %.0f with os.File: %.0f more than allowed", pread, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// What each call takes too much counts in long lives: a program that the bytes describe ends after some 10,000 calls.
func TestAccount_LongLives(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	anywhere := func(s *simulation, n int64) int64 { return s.random.Int64N(s.size - n + 1) }
	writes := func(s *simulation, i, syncEvery int) {
		s.write(anywhere(s, 64), 64)
		if i%syncEvery == syncEvery-1 {
			s.sync()
		}
	}
	const (
		mib  = 1 << 20
		half = mib / 2
	)
	type file struct {
		size       int64
		large, far bool
	}
	for _, c := range []struct {
		what  string
		pread float64
		files []file
		calls int
		call  func(s *simulation, files []*simFile, i int)
	}{
		{"writes, Sync each 1,280", preadPrice, []file{{64 * mib, true, false}}, 200_000, func(s *simulation, _ []*simFile, i int) { writes(s, i, 1280) }},
		{"writes with small folios, Sync each 5,120", preadPrice, []file{{64 * mib, false, false}}, 200_000, func(s *simulation, _ []*simFile, i int) { writes(s, i, 5120) }},
		{"writes with small folios, Sync each 320", preadPrice / 2, []file{{64 * mib, false, false}}, 200_000, func(s *simulation, _ []*simFile, i int) { writes(s, i, 320) }},
		{"reads of 32 KiB, of which copies take longer", preadPrice / 2, []file{{64 * mib, true, false}}, 300_000, func(s *simulation, _ []*simFile, _ int) { s.read(anywhere(s, 32<<10), 32<<10) }},
		{"long writes of two files, which save in one and lose in the other", preadPrice, []file{{BlockSize, true, false}, {256 * mib, false, false}, {half, true, false}}, 12_000, func(s *simulation, files []*simFile, i int) {
			switch k := i % 152; {
			case k < 72:
				s.simFile = files[0]
				s.write(anywhere(s, 64), 64)
			case k < 137 && s.random.IntN(10) > 0:
				s.simFile = files[1]
				s.write(anywhere(s, half), half)
			case k < 137:
				s.simFile = files[1]
				s.read(anywhere(s, half), half)
			default:
				s.simFile = files[2]
				s.write(0, half)
			}
		}},
		{"long reads of a far file, and of one whose copies take longer", preadPrice, []file{{512 * mib, false, true}, {8 * mib, true, false}}, 3_000, func(s *simulation, files []*simFile, i int) {
			if s.simFile = files[1]; i%280 < 69 {
				s.simFile = files[0]
				s.read(s.size-half, half)
			} else {
				s.read(anywhere(s, half), half)
			}
		}},
	} {
		for seed := range uint64(programs(6)) {
			s := newSimulation(seed)
			s.pread = c.pread
			var files []*simFile
			for _, f := range c.files {
				s.open(f.size, f.large, false, false)
				s.far = f.far
				files = append(files, s.simFile)
			}
			for i := range c.calls {
				c.call(s, files, i)
			}
			for _, s.simFile = range files {
				s.close()
			}
			if s.cost > s.allowed() {
				t.Errorf("%s, seed %d: %.0f ns, %.0f with os.File: %.0f more than allowed", c.what, seed, s.cost, s.base, s.cost-s.allowed())
			}
		}
	}
}

// Calls of any length, of a file in large folios on a host with fast system calls: long ones take longer from the mapping.
func TestAccount_AnyLength(t *testing.T) {
	defer account.Unbound()
	r := rand.New(rand.NewPCG(3, 0))
	for length := byte(180); length >= 180; length += 3 { // from 2.4 KiB on
		for i := range programs(40) {
			host := [2]byte{89, 217}[i%2] // zeros prove nothing
			program := []byte{byte(r.IntN(256)), byte(150 + r.IntN(106)), length, byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256)), host, byte(r.IntN(256))}
			checkBound(t, program)
		}
	}
}

// The adversary changes programs for as long as that makes them lose more.
func TestAccount_Adversary(t *testing.T) {
	defer account.Unbound()
	for seed := range uint64(programs(6)) {
		r := rand.New(rand.NewPCG(seed, 1))
		climb(t, randomProgram(r), 1, func(program []byte) []byte { return mutate(r, program) })
	}
}

// climb looks for a program, run so many times, that costs more than allowed.
func climb(t *testing.T, program []byte, times int, mutate func([]byte) []byte) {
	t.Helper()
	most := math.Inf(-1)
	for range programs(200) {
		next := mutate(program)
		if s := simulate(bytes.Repeat(next, times)); s.base > 0 && s.cost-s.allowed() > most {
			program, most = next, s.cost-s.allowed()
		}
	}
	checkBound(t, bytes.Repeat(program, times))
	s := simulate(bytes.Repeat(program, times))
	t.Logf("%.3f of os.File in %.1f ms; %.0f µs more than allowed", s.cost/s.base, s.base/1e6, most/1e3)
}

// Two kinds of lives come in turns, so what is learned of one misleads about the other.
func TestAccount_AdversaryInTurns(t *testing.T) {
	defer account.Unbound()
	for seed := range uint64(programs(6)) {
		r := rand.New(rand.NewPCG(seed, 2))
		program := make([]byte, 2*lifeBytes)
		for i := range program {
			program[i] = byte(r.IntN(256))
		}
		climb(t, program, 20, func(program []byte) []byte {
			program = slices.Clone(program)
			for range 1 + r.IntN(3) {
				program[r.IntN(len(program))] = byte(r.IntN(256))
			}
			for i := 1; i < len(program); i += lifeBytes { // of some hundred calls
				program[i] = min(program[i], 170)
			}
			return program
		})
	}
}

// Long reads of a file do not earn by what those of another take, whose bytes are in no cache.
func TestAccount_LongReadsAfterFarOnes(t *testing.T) {
	for _, turns := range []byte{0, 2} {
		for _, life := range []byte{170, 200, 230} { // 500 to 4,400 reads
			for _, content := range []byte{62, 63, 255} { // small folios, large ones, and zeros
				far := []byte{69, 117, 251, 2, turns, 160, 99, 135}
				hot := []byte{101, life, 255, 132, 0, 1, content, 255}
				checkBound(t, bytes.Repeat(append(far, hot...), 20))
			}
		}
	}
}

func FuzzAccount(f *testing.F) {
	if race.Detector {
		f.Skip("it finds nothing in one goroutine")
	}
	f.Add([]byte{17, 160, 96, 3, 3, 0, 0, 0}) // laps of one read a block
	f.Add([]byte{12, 123, 96, 2, 255, 0, 0, 0})
	f.Add([]byte{55, 55, 255, 35, 0, 113, 168, 124, 250, 225, 247, 243, 228, 0, 0, 127})
	f.Add([]byte{232, 241, 0, 3, 17, 160, 96, 241})
	f.Add([]byte{88, 253, 48, 49, 0, 134, 64, 9})
	f.Add([]byte{50, 234, 48, 49, 0, 134, 128, 9})
	f.Add([]byte{48, 255, 48, 49, 48, 30, 21, 13})    // on a host with fast system calls
	f.Add([]byte{48, 103, 48, 48, 1, 48, 48, 48})     // mapped by reading ahead, shortly before Close
	f.Add([]byte{49, 251, 255, 48, 48, 39, 48, 48})   // long writes of one lap after the other, on a host with fast system calls
	f.Add([]byte{88, 225, 206, 48, 48, 36, 66, 48})   // reads in order that are predicted with a price that is too low
	f.Add([]byte{17, 255, 96, 3, 3, 0, 192, 0})       // laps over zeros
	f.Add([]byte{90, 252, 48, 48, 48, 36, 252, 48})   // a page of zeros that is read ahead again and again
	f.Add([]byte{55, 127, 48, 48, 48, 48, 232, 48})   // and is never reread
	f.Add([]byte{48, 184, 48, 57, 65, 48, 216, 49})   // a proof in a block that is not paid for
	f.Add([]byte{48, 186, 186, 48, 67, 56, 193, 48})  // reads that end in zeros, and find no proof without another read
	f.Add([]byte{50, 255, 255, 88, 48, 48, 241, 211}) // nor an account for that
	f.Add([]byte{149, 203, 225, 228, 195, 9, 254, 186})
	f.Add([]byte{55, 120, 48, 48, 47, 0, 141, 123, 123, 252, 233, 252, 252, 252, 26, 33})
	f.Add([]byte{89, 160, 48, 35, 48, 56, 48, 48})                                    // three files in turns, whose tables grow
	f.Add([]byte{48, 234, 255, 255, 0, 38, 48, 48})                                   // long mapped writes, while another process has the file written back
	f.Add([]byte{48, 218, 255, 255, 0, 38, 48, 48})                                   // on a host with fast system calls
	f.Add([]byte{48, 199, 255, 255, 48, 38, 65, 48})                                  // and those that overlap
	f.Add([]byte{97, 162, 48, 255, 48, 255, 48, 49})                                  // and with the same period as those that are timed
	f.Add([]byte{99, 135, 48, 39, 88, 39, 65, 50})                                    // mapped writes of several sizes
	f.Add([]byte{98, 242, 242, 255, 48, 255, 49, 50})                                 // long mapped writes, each of which is timed
	f.Add([]byte{50, 255, 211, 88, 48, 56, 241, 255})                                 // a file of zeros that grows
	f.Add([]byte{48, 0, 48, 48, 1, 61, 48, 154, 154, 154, 255, 0, 154, 154, 154, 48}) // laps of long reads, in each of which reading ahead does not pay
	f.Add([]byte{45, 167, 188, 65, 16, 143, 151, 74})                                 // mapped writes of which some are faults, and not those that are timed
	f.Add([]byte{45, 173, 254, 61, 84, 36, 155, 92, 96, 169, 32, 66, 8, 39, 158, 89, 45, 176, 251, 61, 82, 36, 155, 92,
		45, 169, 251, 61, 84, 36, 159, 92, 96, 233, 75, 70, 8, 39, 44, 89, 45, 173, 251, 61, 84, 36, 155, 92}) // and long ones
	f.Add([]byte{128, 224, 28, 95, 255, 77, 251, 32}) // reads and writes that are recorded again and again
	f.Add([]byte{8, 33, 129, 116, 191, 215, 113, 227, 111, 101, 236, 158, 38, 238, 35, 197, 76, 255, 177, 64, 84, 78, 192, 191})
	f.Add([]byte{98, 218, 255, 255, 0, 38, 48, 48})     // and that another process has written back
	f.Add([]byte{48, 172, 252, 52, 48, 47, 242, 0, 48}) // mapped writes, of which those that are timed are no faults
	f.Add([]byte{48, 255, 48, 88, 48, 65, 255, 255})    // and one whose next page is the proof
	f.Add([]byte{48, 234, 255, 255, 0, 38, 48, 50, 48}) // long mapped writes of which few are faults
	f.Add([]byte{48, 221, 255, 255, 48, 39, 65, 49})
	f.Add([]byte{48, 220, 155, 65, 0, 39, 66, 35})                                          // small ones, of which two of five are faults
	f.Add([]byte{98, 180, 188, 65, 48, 38, 89, 48})                                         // writes that lose for as long as reads gain
	f.Add([]byte{48, 176, 48, 32, 0, 37, 48, 48})                                           // slow prefaults of two blocks
	f.Add([]byte{48, 234, 255, 88, 48, 255, 97, 0})                                         // long mapped writes, each of which is timed, which takes 60 ns
	f.Add([]byte{88, 180, 180, 36, 48, 48, 48, 48})                                         // the end of a growing file, whose words have the place of others
	f.Add([]byte{48, 255, 251, 251, 48, 93, 48, 48, 48, 48, 48})                            // prefaults of which each second one is cheap
	f.Add([]byte{65, 246, 246, 246, 48, 246, 98, 48})                                       // pages that are evicted, and read again by system calls
	f.Add([]byte{48, 220, 48, 65, 0, 39, 66, 35})                                           // mapped writes that have a debt, and end in the next one
	f.Add([]byte{210, 25, 16, 39, 100, 96, 84, 106, 122, 220, 194, 186, 24, 217, 224, 206}) // loads that fail
	f.Add([]byte{50, 213, 7, 239, 255, 120, 48, 48})                                        // and whose pages were ready all the same
	// Reads of 64 KiB of zeros between short ones, which take as long to copy as by system call.
	f.Add([]byte{25, 18, 255, 133, 185, 10, 67, 95, 133, 202, 83, 139, 243, 252, 219, 202, 13, 195, 226, 220, 131, 147, 153, 99})
	// Long reads of pages that are evicted again and again, which makes system calls dear.
	f.Add([]byte{89, 255, 255, 57, 48, 36, 48, 56})
	// Files in order, with small folios, among files with large ones: their loads seem to have waited.
	f.Add([]byte{89, 170, 48, 65, 0, 36, 209, 120, 89, 170, 48, 65, 0, 56, 49, 147, 88, 95, 48, 36, 0, 48, 48, 48, 89, 170, 48, 65, 0, 36, 49, 120, 48, 97, 48, 36, 0, 48, 48, 48, 88, 170, 48, 65, 0, 36, 49, 99, 48, 97, 48, 36, 0, 48, 48, 48, 88, 170, 48, 65, 0, 28, 209, 97, 48, 97, 48, 36, 0, 48, 48, 48, 88, 170, 48, 65, 0, 36, 49, 120, 48, 97, 48, 36, 0, 48, 48, 48, 88, 170, 48, 65, 0, 36, 49, 147, 48, 97, 48, 36, 0, 48, 48, 48, 88, 120, 48, 65, 0, 48, 48, 147, 48, 97, 48, 36, 0, 48, 48, 48, 48, 48, 48, 48, 32, 48, 48, 48, 48, 48, 48, 48, 0, 48, 48, 48})
	f.Add(bytes.Repeat([]byte{251, 170, 78, 209, 0, 28, 209, 147, 159, 95, 2, 36, 0, 232, 58, 232}, 16))
	// Short lives of files in which each call adds to the table.
	f.Add(bytes.Repeat([]byte{162, 170, 43, 193, 1, 36, 147, 179, 251, 123, 13, 139, 90, 191, 208, 47}, 20))
	f.Add(bytes.Repeat([]byte{223, 170, 77, 247, 3, 2, 89, 52, 125, 119, 16, 133, 193, 191, 164, 46}, 20))
	f.Add([]byte{65, 120, 255, 48, 0, 38, 48, 48})   // a slow prefault, and one of two blocks
	f.Add([]byte{48, 255, 48, 88, 48, 255, 89, 122}) // mapped writes of which each third is long, and timed
	f.Add([]byte{48, 220, 48, 65, 0, 39, 65, 65})
	f.Add([]byte{48, 220, 48, 65, 0, 39, 65, 56})         // mapped writes of which half are faults
	f.Add([]byte{48, 220, 48, 65, 0, 39, 65, 49})         // of which more are timed that are none
	f.Add([]byte{88, 149, 48, 36, 48, 48, 66, 48})        // reads ahead of blocks that are mapped already
	f.Add([]byte{88, 222, 194, 0, 0, 4, 0, 66, 48})       // and of others, at prices that fall until they pay
	f.Add([]byte{231, 154, 203, 144, 143, 192, 185, 113}) // long reads, for which reading ahead pays at no price
	f.Add([]byte{142, 113, 244, 186, 149, 195, 39, 161})
	f.Add([]byte{65, 173, 220, 42, 42, 42, 42, 42}) // and laps, in each of which it does not pay
	// Reads that take as long from the mapping as by system call, and longer.
	f.Add([]byte{50, 255, 220, 88, 48, 48, 89, 243})
	f.Add([]byte{10, 223, 237, 147, 242, 137, 221, 30})
	f.Add([]byte{213, 200, 255, 31, 19, 196, 89, 22}) // of 4 MiB
	f.Add([]byte{48, 255, 196, 34, 48, 196, 196, 48}) // and that prove nothing
	f.Add([]byte{48, 241, 232, 48, 0, 48, 89, 48})
	f.Add([]byte{88, 127, 255, 0, 0, 200, 89, 22}) // and of which the first copies take far longer
	f.Add([]byte{140, 137, 255, 32, 0, 218, 67, 175, 232, 4, 67, 18, 0, 125, 223, 135})
	f.Add([]byte{228, 113, 250, 109, 0, 221, 217, 120})
	f.Add([]byte{33, 162, 229, 64, 0, 199, 30, 20}) // writes of 1 MiB, each page of which another process has written back
	f.Add([]byte{17, 3, 82, 7, 16, 83, 6, 87, 69, 133, 212, 17, 0, 198, 167, 19, 248, 26, 27, 101, 44, 150, 23, 214})
	f.Add([]byte{72, 54, 23, 164, 30, 117, 7, 200, 66, 149, 243, 205, 0, 198, 129, 199})
	f.Add([]byte{142, 146, 14, 182, 2, 229, 195, 116, 128, 14, 11, 140, 1, 70, 25, 239, 18, 206, 112, 120, 2, 74, 235, 3}) // laps of a few reads, each to the end of the file
	f.Add([]byte{108, 213, 22, 39, 4, 241, 202, 81})                                                                       // zeros, whose proof is read in
	f.Add([]byte{70, 147, 190, 112, 0, 199, 67, 28})                                                                       // writes of 240 KB, each page of which another process has written back
	f.Add([]byte{215, 17, 34, 200, 5, 23, 195, 134, 239, 222, 214, 235, 0, 228, 234, 167})
	f.Add([]byte{15, 125, 116, 203, 0, 229, 194, 245, 58, 189, 178, 204, 0, 152, 250, 217})
	f.Add([]byte{30, 128, 186, 161, 0, 199, 203, 23})
	f.Add([]byte{184, 222, 24, 207, 2, 131, 223, 139})
	f.Add([]byte{165, 222, 254, 228, 0, 219, 219, 45})
	f.Add([]byte{112, 222, 76, 33, 0, 165, 211, 134})
	f.Add([]byte{184, 222, 158, 30, 2, 139, 219, 24})
	f.Add([]byte{227, 41, 81, 252, 11, 131, 65, 57, 217, 109, 183, 70, 4, 88, 193, 182, 58, 222, 87, 93, 0, 185, 246, 64})
	f.Add([]byte{253, 48, 12, 144, 2, 226, 25, 207, 110, 109, 202, 103, 1, 235, 65, 228, 202, 199, 53, 195, 3, 25, 251, 164})
	f.Add([]byte{58, 222, 24, 147, 2, 42, 215, 49, 28, 6, 37, 240, 101, 72, 74, 170})
	f.Add([]byte{193, 202, 64, 15, 0, 59, 208, 189})                                                                                 // a proof that is the first load of the next block
	f.Add([]byte{120, 147, 143, 240, 4, 58, 65, 68, 71, 100, 9, 150, 5, 248, 246, 163})                                              // loads that are read ahead, and take longer than the price of their end says
	f.Add([]byte{214, 154, 253, 17, 177, 201, 195, 56, 136, 144, 249, 137, 255, 2, 197, 101, 106, 128, 147, 235, 111, 204, 41, 109}) // first copies that take longer
	f.Add([]byte{138, 134, 253, 126, 0, 204, 219, 198})                                                                              // and prove nothing, in three files
	f.Add([]byte{40, 255, 189, 65, 48, 48, 255, 16})                                                                                 // shorter ones, whose savings pay for records
	f.Add([]byte{50, 184, 48, 57, 48, 48, 48, 57})                                                                                   // pages that are evicted: a read that waits for the disk is no measure
	f.Add([]byte{33, 177, 177, 57, 48, 201, 49, 56})                                                                                 // and long ones
	f.Add([]byte{42, 255, 221, 49, 48, 221, 205, 48})                                                                                // long copies that prove nothing, and are not recorded
	f.Add([]byte{99, 144, 228, 228, 81, 144, 228, 228})                                                                              // laps of a file that grows: prices fall once, not for each of its ends
	// A page that joins a block is no measure of a fault.
	f.Add([]byte{48, 193, 48, 57, 48, 48, 216, 49})
	f.Add([]byte{50, 255, 211, 57, 48, 211, 49, 56})
	f.Add([]byte{48, 224, 219, 112, 48, 169, 221, 48})                               // copies of 13 KiB that prove nothing
	f.Add([]byte{98, 218, 255, 57, 0, 48, 218, 50})                                  // each second long copy proves nothing
	f.Add([]byte{48, 120, 0, 0, 0, 160, 198, 108, 45, 124, 142, 48, 48, 16, 48, 48}) // short reads, after those of a file whose bytes are in no cache
	// Long reads of hot files, after those of files whose bytes are in no cache.
	f.Add([]byte{69, 117, 251, 2, 86, 160, 99, 135, 101, 255, 255, 132, 122, 1, 255, 255})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 40*lifeBytes {
			t.Skip()
		}
		checkBound(t, program)
	})
}

// The order of long reads is followed from the first one on, but the short ones after each are recorded as others are.
func TestRead_ShortAmongLong(t *testing.T) {
	if Eager {
		t.Skip("the eager policy records all calls")
	}
	defer account.Unbound()
	s := newSimulation(1)
	account.Set(math.MinInt32) // nothing is paid
	s.open(1024*BlockSize, false, false, false)
	for i := range 64_000 {
		n := int64(64)
		if i%32 == 0 {
			n = AheadBytes
		}
		s.read(s.random.Int64N(s.size-n), n)
	}
	if s.records > s.calls/recordOne+LookEvery {
		t.Errorf("%d of %d calls are recorded", s.records, s.calls)
	}
}

// Where long reads take longer from the mapping, that ends after some, and is tried again: where they do not any more,
// they come back to it.
func TestDraw_Changes(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	for _, n := range []int64{8 << 10, Long, 40_000, 256 << 10} {
		s := newSimulation(1)
		var files [2]*simFile
		for i, large := range []bool{true, false} {
			s.open(16*BlockSize, large, false, false)
			files[i] = s.simFile
		}
		for i := range 3 * len(files) {
			s.simFile = files[i%2]
			cost, base := s.cost, s.base
			for range 20_000 {
				s.read(s.random.Int64N(s.size-n), n)
			}
			got := (s.cost - cost) / (s.base - base)
			t.Logf("%d bytes, large folios %v: %.2f", n, s.large, got)
			if s.large && got > 1.05 || n < Long && got > 0.65 || n == Long && got > 0.80 || !s.large && got > 0.80 {
				t.Errorf("%d bytes, large folios %v: %.2f of os.File", n, s.large, got)
			}
		}
		if n := files[0].p.Calls(reason.Unpaid)[reason.Unproven]; n > 20 { // the prices may change during a call
			t.Errorf("%d reads are believed to prove nothing", n)
		}
	}
}

// What a short read takes is known of each length, from reads of pages in memory, also if no other call is made.
func TestDraw_PricesOfShortReads(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	for _, n := range []int64{64, 4096, 15_000} {
		s := newSimulation(1)
		s.open(1024*BlockSize, false, false, true)
		for off := int64(0); off < 1000*BlockSize; off += BlockSize {
			s.read(off, n) // waits for the disk
		}
		s.resident = nil
		s.p.Note(Ready, 0, 2*BlockSize)
		s.mapped, s.known = true, s.size
		for range 20_000 {
			s.read(s.random.Int64N(2*BlockSize-n), n)
		}
		call, _ := s.bytes(n)
		if read := prices.OfRead(n); read < int64(s.pread+call)-10 || read > int64(s.pread+call)+10 {
			t.Errorf("a read of %d bytes is believed to take %d ns, not %.0f", n, read, s.pread+call)
		}
		if account.Balance() < 0 {
			t.Errorf("copies of %d bytes have lost %d ns", n, -account.Balance())
		}
	}
}

// checkMean runs a program with so many seeds. What it takes on average is to be at most limit of os.File.
func checkMean(t *testing.T, seeds int, limit float64, run func(s *simulation)) {
	t.Helper()
	sum := 0.0
	for seed := range seeds {
		s := newSimulation(uint64(seed))
		run(s)
		sum += s.cost / s.base
	}
	mean := sum / float64(seeds)
	if t.Logf("%.2f of os.File", mean); mean > limit {
		t.Errorf("%.2f of os.File", mean)
	}
}

// copiesAreDear says that reads of n bytes are believed to take longer from the mapping.
func (p *Pages) copiesAreDear(n int64) {
	p.begin().setOwn(TimedRead, n, 1_000)
	p.begin().setOwn(TimedCopy, n, 100_000)
}

// Nothing is asked about pages that are ready, if they are read in order by system call because copies take longer.
func TestDraw_AsksNothing(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(64*BlockSize, true, false, false)
	s.mapped, s.known = true, s.size
	s.p.Note(Ready, 0, s.size)
	s.p.copiesAreDear(Long)
	account.Set(account.Max)
	for off := range 4 * s.size / Long {
		s.read(off*Long%s.size, Long)
	}
	if s.records == 0 || s.asked > 0 {
		t.Errorf("%d questions in %d reads that are recorded", s.asked, s.records)
	}
}

// A copy that waited for a processor does not end copies, which gain.
func TestDraw_Busy(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy does not weigh prices")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	const n = 512 << 10
	checkMean(t, 8, 0.69, func(s *simulation) {
		s.busy = true
		s.open(64*BlockSize, false, false, false)
		for range 20_000 {
			s.read(s.random.Int64N(s.size-n)&^(PageSize-1), n)
		}
		s.close()
	})
}

// A file some of whose reads find their bytes in the caches of the processor, where copies take longer, and most do not, or
// all but the first.
func TestDraw_HotAndFar(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	for _, hot := range []int{0, 5, 20} { // of 100
		var p Pages
		newSimulation(1)
		p.Note(Ready, 0, BlockSize)
		cost, base := 0.0, 0.0
		read := func(far bool) {
			call, copied := 571.0, 481.0
			if far {
				call, copied = 2_000, 1_200
			}
			base += call
			switch how := p.Draw(0, Long, true); how {
			case Copy:
				cost += copied
			case TimedCopy:
				cost += copied
				p.Took(how, Long, time.Duration(copied))
			case TimedRead:
				p.Took(how, Long, time.Duration(call))
				cost += call
			default:
				cost += call
			}
		}
		read(false)
		for range 200_000 {
			read(random()%100 >= uint32(hot))
		}
		if t.Logf("%d of 100 hot: %.2f of os.File", hot, cost/base); cost > 0.7*base {
			t.Errorf("%d of 100 hot: %.2f of os.File", hot, cost/base)
		}
	}
}

// Copies that seemed dear once are tried again.
func TestDraw_AfterDearCopies(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy does not weigh prices")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	const seeds = 8
	for life, limit := range map[int]float64{200: 0.90, 40_000: 0.40} { // other calls of the file come between
		sum := 0.0
		for seed := range uint64(seeds) {
			s := newSimulation(seed)
			for range 200_000 / life {
				if s.open(16*BlockSize, false, false, false); life > 200 {
					s.p.copiesAreDear(Long)
				}
				for range life {
					s.read(s.random.Int64N(4)*BlockSize, Long)
					if life > 200 {
						s.write(8*BlockSize, 64)
					}
				}
				s.close()
			}
			t.Logf("lives of %d: %.2f", life, s.cost/s.base)
			sum += s.cost / s.base
		}
		if sum > limit*seeds {
			t.Errorf("lives of %d: %.2f of os.File", life, sum/seeds)
		}
	}
}

// What a long life gains stays, for one after the other.
func TestAccount_Gains(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	for _, c := range []struct {
		what                string
		life, blocks, lives int
		large               bool
		limit               float64
	}{
		{"200 reads of one block", 200, 1, 50, false, 0.60},
		{"400 reads of one block", 400, 1, 50, false, 0.35},
		{"1,000 reads of one block", 1000, 1, 50, false, 0.20},
		{"1,000 reads of 4 blocks", 1000, 4, 20, false, 0.50},
		{"16 blocks, 64 reads each", 16 * 64, 16, 20, false, 0.50},
		{"1,024 blocks, 64 reads each, large folios", 1024 * 64, 1024, 1, true, 0.50},
		{"1,024 blocks, 200 reads each", 1024 * 200, 1024, 1, false, 0.50},
		{"1,024 blocks, 64 reads each", 1024 * 64, 1024, 1, false, 1.10},
		{"1,024 blocks, 100 reads each", 1024 * 100, 1024, 1, false, 0.80},
		{"1,024 blocks, 20 reads each, large folios", 1024 * 20, 1024, 1, true, 0.80},
	} {
		s := newSimulation(1)
		for range c.lives {
			s.open(int64(c.blocks)*BlockSize, c.large, false, false)
			for range c.life {
				s.read(int64(s.random.IntN(c.blocks))*BlockSize+100, 64)
			}
			s.close()
		}
		t.Logf("%s: %.2f", c.what, s.cost/s.base)
		if s.cost > c.limit*s.base {
			t.Errorf("%s: %.2f of os.File, want at most %.2f", c.what, s.cost/s.base, c.limit)
		}
	}
}

// Reads and writes of one long life, at random. They have few calls for each block, so what is learned with
// little in the account decides, as there is after other work. Long ones earn more, and a mapping saves more of them.
func TestAccount_GainsAtRandom(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy maps at once")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	for i, c := range []struct {
		n, blocks int64
		calls     int
		pread     float64
		large     bool
		memory    bool // a tmpfs
		writes    bool
		poor      bool
		limit     float64
	}{
		{64, 1024, 100_000, 250, true, false, false, false, 0.55},
		{64, 1024, 100_000, 430, true, false, false, false, 0.40},
		{64, 1024, 200_000, 250, false, false, false, false, 0.90},
		{64, 1024, 100_000, 430, false, false, false, false, 1.02},
		{64, 1024, 200_000, 430, false, false, false, false, 0.55},
		{64, 1024, 100_000, 2_000, false, false, false, false, 0.33},
		{64, 1024, 100_000, 250, true, false, true, false, 0.64},
		{64, 1024, 100_000, 430, true, false, true, false, 0.37},
		{8 << 10, 128, 20_000, 430, false, false, true, false, 0.83},
		{32 << 10, 128, 20_000, 430, false, false, false, false, 0.65},
		{32 << 10, 128, 20_000, 430, false, false, false, true, 0.68},
		{32 << 10, 128, 20_000, 430, false, true, false, false, 0.63},
		{32 << 10, 128, 20_000, 430, false, false, true, false, 0.77},
		{32 << 10, 128, 20_000, 430, false, false, true, true, 0.85},
		{256 << 10, 128, 20_000, 430, false, false, false, false, 0.73},
		{256 << 10, 128, 20_000, 430, false, false, false, true, 0.76},
		{256 << 10, 128, 20_000, 430, false, false, true, false, 0.74},
		{256 << 10, 128, 20_000, 430, false, false, true, true, 0.75},
		{4 << 20, 128, 2_000, 430, false, false, true, false, 1.02}, // a fault of each page is more than the account may have
	} {
		if testing.Short() && i%4 != 0 {
			continue
		}
		const seeds = 4
		sum := 0.0
		for seed := range uint64(seeds) {
			s := newSimulation(seed)
			if s.pread = c.pread; c.poor {
				account.Set(10_000)
			}
			s.open(c.blocks*BlockSize, c.large, c.memory, false)
			for range c.calls {
				off := s.random.Int64N(s.size - c.n)
				if c.n > PageSize {
					off &^= PageSize - 1
				}
				if c.writes {
					s.write(off, c.n)
				} else {
					s.read(off, c.n)
				}
			}
			s.close()
			sum += s.cost / s.base
		}
		if t.Logf("%+v: %.2f", c, sum/seeds); sum > c.limit*seeds {
			t.Errorf("%+v: %.2f of os.File", c, sum/seeds)
		}
	}
}

// Short reads save more where neither a call nor a copy finds its bytes in a cache of the processor.
func TestDraw_FarFile(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy maps at once")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	const seeds = 8
	for n, limit := range map[int64]float64{64: 0.66, 4096: 0.84} {
		sum := 0.0
		for seed := range uint64(seeds) {
			s := newSimulation(seed)
			s.pread = 250
			s.open(1024*BlockSize, false, false, false)
			s.far = true
			for range 200_000 {
				s.read(s.random.Int64N(s.size-n), n)
			}
			s.close()
			sum += s.cost / s.base
		}
		if t.Logf("%d bytes: %.2f", n, sum/seeds); sum > limit*seeds {
			t.Errorf("%d bytes: %.2f of os.File", n, sum/seeds)
		}
	}
}

// ratio sums what some calls of a simulation take.
type ratio struct{ cost, base float64 }

func (r ratio) atMost(t *testing.T, limit float64) {
	t.Helper()
	if t.Logf("%.2f", r.cost/r.base); r.cost > limit*r.base {
		t.Errorf("%.2f of os.File", r.cost/r.base)
	}
}

// readOf reads 64 bytes at off of f, and adds to sum, unless it is nil.
func (s *simulation) readOf(f *simFile, off int64, sum *ratio) {
	cost, base := s.cost, s.base
	s.simFile = f
	s.read(off, 64)
	if sum != nil {
		sum.cost += s.cost - cost
		sum.base += s.base - base
	}
}

// Files are mapped although another one is read beside them, which is mapped and gains nothing.
func TestAccount_LivesBesideMappedFile(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(16384*BlockSize, true, false, false)
	large := s.simFile
	for range 100_000 {
		s.read(s.random.Int64N(s.size-64), 64)
	}
	if !s.mapped {
		t.Fatal("the large file is not mapped")
	}
	var of ratio
	for range 100 {
		s.open(BlockSize, true, false, false)
		small := s.simFile
		for range 1000 {
			s.readOf(small, 100, &of)
			s.readOf(large, s.random.Int64N(large.size-64), nil)
		}
		s.simFile = small
		s.close()
	}
	of.atMost(t, 0.3)
}

// The words of large files are in no cache, so that each look at one costs. What calls gain, or the account, has to pay
// that.
func TestAccount_LargeFiles(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, c := range []struct {
		files  int
		mib    int64
		writes int
	}{
		{1, 256, 0},
		{1, 1 << 10, 0},
		{1, 1 << 10, 25},
		{1, 4 << 10, 0},
		{1, 4 << 10, 100},
		{1, 16 << 10, 0},
		{4, 128, 0},
		{8, 64, 0},
		{16, 128, 25},
		{32, 64, 0},
		{64, 16, 0},
		{1024, 1, 0},
	} {
		s := newSimulation(1)
		files := make([]*simFile, c.files)
		for i := range files {
			s.open(c.mib<<20, true, false, false)
			files[i] = s.simFile
		}
		worst := 0.0
		for range programs(600_000) {
			s.simFile = files[s.random.IntN(c.files)]
			if off := s.random.Int64N(s.size - 64); s.random.IntN(100) < c.writes {
				s.write(off, 64)
			} else {
				s.read(off, 64)
			}
			worst = max(worst, s.cost-s.allowed())
		}
		if t.Logf("%+v: %.2f of os.File", c, s.cost/s.base); worst > 0 {
			t.Errorf("%+v: %.0f ns more than allowed", c, worst)
		}
	}
}

// A part of a large file that is in use is found, whatever the period of the calls elsewhere, and used while it lasts.
func TestAccount_PartOfLargeFile(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy maps at once")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	for _, c := range []struct {
		cold, hot int
		writes    bool // the hot ones
		large     bool // folios
		limit     float64
	}{
		{64, 192, false, true, 0.40},
		{128, 128, false, true, 0.72},
		{224, 224, false, true, 0.72},
		{300, 200, false, true, 0.85},
		{1, 31, false, true, 0.12},
		{64, 192, true, true, 0.43},
		{100, 400, true, true, 0.36},
		{32, 8, true, false, 1.07}, // the bound is 1.08
	} {
		s := newSimulation(1)
		s.open(4<<30, c.large, false, false)
		for range 60_000 {
			s.read(s.random.Int64N(s.size-64), 64)
		}
		const part = 1 << 30
		cost, base := s.cost, s.base
		for range 400_000 / (c.cold + c.hot) {
			for range c.cold {
				s.read(s.random.Int64N(s.size-64), 64)
			}
			for range c.hot {
				if off := part + s.random.Int64N(BlockSize); c.writes {
					s.write(off, 64)
				} else {
					s.read(off, 64)
				}
			}
		}
		got := (s.cost - cost) / (s.base - base)
		if t.Logf("%+v: %.2f of os.File", c, got); got > c.limit {
			t.Errorf("%+v: %.2f of os.File", c, got)
		}
	}
}

// What saved calls have earned pays for records of a large file.
func TestAccount_LargeFileBesideHotOne(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(BlockSize, true, false, false)
	hot := s.simFile
	for range 20_000 {
		s.read(100, 64)
	}
	s.open(512<<20, true, false, false)
	large := s.simFile
	var of ratio
	for i := range 200_000 {
		if i == 100_000 {
			of = ratio{}
		}
		s.readOf(large, s.random.Int64N(large.size-64), &of)
		s.readOf(hot, 100, nil)
	}
	of.atMost(t, 0.25)
}

// What a program has had loaded is copied at once, also in a large file of which nothing else is.
func TestDraw_LoadedInLargeFile(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(64<<10*BlockSize, true, false, false)
	for !s.mapped {
		s.read(s.random.Int64N(s.size-64), 64)
	}
	const off = 1 << 30
	s.p.Note(Ready, off, BlockSize)
	if s.p.Draw(off, 64, true) == System {
		t.Error("a read of pages that were loaded is a system call")
	}
}

// After pages that are not in memory, nothing is asked until the order ends. The next one may find them there.
func TestRead_NextOrder(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps each block before it is read in order")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(64*BlockSize, true, false, true)
	inOrder := func(off, end int64) {
		for ; off < end; off += PageSize {
			s.read(off, PageSize)
		}
	}
	inOrder(0, 16*BlockSize)
	if !s.told {
		t.Fatal("the system is not told that a cold file is read in order")
	}
	account.Set(-account.Start) // calls are recorded as a sample
	if inOrder(16*BlockSize, 40*BlockSize); s.tells > 1 {
		t.Errorf("it is told %d times that the file is read in order, or is not", s.tells)
	}
	account.Set(account.Start)
	for block := range int64(56) { // the disk reads ahead
		s.resident[block] = true
	}
	if inOrder(40*BlockSize, 48*BlockSize); s.p.Ready(47*BlockSize, 1) {
		t.Error("what the disk has read ahead is mapped, and a small memory cgroup keeps it")
	}
	s.read(63*BlockSize, PageSize)
	if s.told {
		t.Error("it is not told that the order has ended")
	}
	s.resident = nil
	inOrder(48*BlockSize, 60*BlockSize)
	if !s.p.Ready(54*BlockSize, BlockSize) {
		t.Error("nothing was read ahead in the second order")
	}
}

// Lives that read a small file in order, again and again, whose reads do not begin with a page: nothing is read ahead, and
// the laps map it.
func TestRead_LapsOfSmallFile(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	for _, c := range []struct {
		size, n int64
		life    int
		limit   float64
	}{
		{39_325, 1557, 400, 0.50},
		{318_645, 4097, 310, 0.70},
	} {
		s := newSimulation(1)
		for range 50 {
			s.open(c.size, true, false, false)
			off := int64(0)
			for range c.life {
				if off+c.n > s.size {
					off = 0
				}
				s.read(off, c.n)
				off += c.n
			}
			s.close()
		}
		if t.Logf("%+v: %.2f of os.File", c, s.cost/s.base); s.cost > c.limit*s.base {
			t.Errorf("%+v: %.2f of os.File", c, s.cost/s.base)
		}
	}
}

// A fault of a large folio maps several blocks, and is no price of each of them: short passes are read ahead.
func TestRead_FoliosOfSeveralBlocks(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	s := newSimulation(1)
	for range 200 {
		s.open(320*BlockSize, true, false, false)
		s.spans = 8
		off := int64(0)
		for range 600 {
			n := 1 + s.random.Int64N(8596)
			s.read(off, n)
			off += n
		}
		s.close()
	}
	if t.Logf("%.2f of os.File", s.cost/s.base); s.cost > 0.67*s.base {
		t.Errorf("%.2f of os.File", s.cost/s.base)
	}
}

// The fault of a large folio says nothing of the ends of its other blocks.
func TestReadAt_FoliosOfSeveralBlocks(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy has no account")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	const blocks = 320
	checkMean(t, 48, 0.85, func(s *simulation) { // half of them gain nothing
		for range 4 {
			s.open(blocks*BlockSize, true, false, false)
			s.spans = 8
			for range 16_000 {
				s.read(s.random.Int64N(blocks*BlockSize-PageSize), 1+s.random.Int64N(PageSize))
			}
			s.close()
		}
	})
}

// Where reading ahead does not pay, little is asked: nothing of a small file, and a block of each 2 MiB.
func TestRead_AsksLittle(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	for _, c := range []struct{ size, n, most int64 }{
		{AheadBytes / 2, 4096, 0},
		{64 << 20, 64 << 10, 64 << 20 / (4 * AheadBytes)},
	} {
		s := newSimulation(1)
		s.open(c.size, true, false, false)
		prices.Fault.Set(20_000)
		for off := int64(0); off < c.size; off += c.n {
			s.read(off, c.n)
		}
		if n := s.askedBlocks; n > c.most || n < c.most/2 {
			t.Errorf("%d bytes in calls of %d: %d blocks were asked about, want at most %d", c.size, c.n, n, c.most)
		}
	}
}

// Faults that were dear, and ends of blocks, do not forbid for ever to read ahead, which would show that they are not any
// more.
func TestRead_AfterDearFaults(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	for _, price := range []*account.Price{&prices.Fault, &prices.End} {
		cost, base := 0.0, 0.0
		for seed := range uint64(20) { // one alone may be far from the mean
			s := newSimulation(seed)
			price.Set(8_000)
			s.open(1024*BlockSize, true, false, false)
			for off := int64(0); off < s.size; off += 4096 {
				s.read(off, 4096)
			}
			s.close()
			cost, base = cost+s.cost, base+s.base
		}
		if cost > 0.75*base {
			t.Errorf("%.2f of os.File", cost/base)
		}
	}
}

// Loads of blocks that are mapped are no faults, whatever has mapped them: reads ahead, proofs, or prefaults. Where reading
// ahead does not pay, the price falls.
func TestRead_FaultsAreMeasured(t *testing.T) {
	defer account.Unbound()
	r := rand.New(rand.NewPCG(11, 0))
	measured := 0
	for i := range programs(400) {
		program := randomProgram(r)[:lifeBytes] // of one kind of file
		s := newSimulation(uint64(i))
		if i%2 == 0 {
			program[6] &^= 16 // no host with fast system calls
			s.pread = 2_000
		}
		if s.run(program); !prices.Fault.Known() {
			continue
		}
		measured++
		if now := float64(prices.Fault.Now()); now < max(largeFault/2, s.faultPrice()/4) || now > 2*s.faultPrice() {
			t.Errorf("%v: a fault is believed to take %.0f ns, not %.0f", program, now, s.faultPrice())
		}
	}
	if measured == 0 {
		t.Error("none was measured")
	}
}

// Each block that the mapping shows has its end paid once, whatever has mapped it: reads, which come back to it in laps, or
// the proof of another one that was prefaulted.
func TestRead_EndsArePaidOnce(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	check := func(s *simulation, what string) {
		t.Helper()
		if paid := int(s.p.begin().loaded.Load()); paid != len(s.faulted) {
			t.Errorf("%s: the ends of %d blocks are paid, and %d are mapped", what, paid, len(s.faulted))
		}
	}
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		s.open(64<<20, large, false, false)
		for range 4 {
			for off := int64(0); off+3922 <= s.size; off += 3922 {
				s.read(off, 3922)
			}
		}
		check(s, "reads in laps")
		s = newSimulation(1)
		s.open(64<<20, large, false, false)
		for i := range int64(400_000) {
			off := s.random.Int64N(s.size/2/BlockSize)*2*BlockSize + s.random.Int64N(BlockSize-64)
			if i%2 == 0 {
				s.write(off, 64)
			} else {
				s.read(off+BlockSize, 64)
			}
		}
		check(s, "reads beside writes")
	}
}

// If both prices of what Close takes are too high, they do not stay so.
func TestClosed_BothPricesTooHigh(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not weigh prices")
	}
	defer account.Unbound()
	s := newSimulation(1)
	prices.End.Set(8_000)
	prices.Unmap.Set(23_000)
	for range 200 {
		s.open(16*BlockSize, true, false, false)
		for range 1000 {
			s.read(s.random.Int64N(s.size-64), 64)
		}
		s.close()
	}
	if s.cost > 0.70*s.base {
		t.Errorf("%.2f of os.File", s.cost/s.base)
	}
	if end := prices.End.Now(); end > 1_000 {
		t.Errorf("the end of a block is believed to take %d ns", end)
	}
}

// Short copies of a far file, and system calls of a hot one, do not make a debt that no later file pays.
func TestDraw_NoDebtOfShortReads(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for _, n := range []int64{8 << 10, 12_000} {
		s := newSimulation(1)
		s.pread = preadPrice / 2
		var files [2]*simFile
		for i, size := range []int64{64 << 20, 2 << 20} {
			s.open(size, true, false, false)
			s.far = i == 0
			files[i] = s.simFile
		}
		off := int64(0)
		for i := 0; s.base < 100e6; i++ {
			if s.simFile = files[0]; i%3 == 0 {
				off = s.random.Int64N(s.size - n)
			}
			s.read(off, n)
			if s.simFile = files[1]; i%2 == 0 {
				s.read(s.random.Int64N(s.size-n), n)
			}
		}
		s.cost, s.base = 0, 0
		s.lives(500, 400, true)
		if s.cost > 0.5*s.base {
			t.Errorf("lives after reads of %d bytes: %.2f of os.File", n, s.cost/s.base)
		}
	}
}

// lives opens a file of a block, reads it, and closes it, so many times.
func (s *simulation) lives(times, reads int, large bool) {
	for range times {
		s.open(BlockSize, large, false, false)
		for range reads {
			s.read(100, 64)
		}
		s.close()
	}
}

// A trial that is not to be made any more does not keep calls from being recorded.
func TestPrefault_TrialThatWaited(t *testing.T) {
	if Eager {
		t.Skip("the eager policy records all calls")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(1024*BlockSize, false, false, false)
	for range 12_000 {
		s.write(s.random.Int64N(s.size-64), 64)
	}
	if trialWaits.Load() <= 0 {
		t.Fatal("no trial waits")
	}
	s.cost, s.base = 0, 0 // the file stays open
	s.lives(2000, 200, false)
	if s.cost > 0.6*s.base {
		t.Errorf("%.2f of os.File", s.cost/s.base)
	}
}

// A long read that may wait for the disk is no measure of what a mapping saves.
func TestTook_Cold(t *testing.T) {
	defer account.Unbound()
	s := newSimulation(1)
	s.open(64*BlockSize, true, false, false)
	s.mapped, s.known = true, s.size
	for _, cold := range []bool{false, true} {
		if cold {
			s.resident = map[int64]bool{}
		}
		for range 200 * LookEvery {
			off := s.random.Int64N(s.size/2-Long) &^ (PageSize - 1)
			if cold {
				off += s.size / 2
				clear(s.resident)
				s.p.Truncated(0)
			}
			s.read(off, Long)
		}
		if now, _ := prices.Measured(Long); now > 300 || now == 0 && !Eager {
			t.Errorf("cold: %v; a page is believed to take %d ns", cold, now)
		}
	}
	s.mapped = false
	s.close()
}

// Between two Syncs there are few writes to each block, so a period and a prefault must be worth it.
func TestAccount_GainsWithSync(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer account.Unbound()
	for pread, limit := range map[float64]float64{300: 0.80, 330: 0.75, 430: 0.65, 600: 0.50} {
		s := newSimulation(1)
		s.log(pread)
		if t.Logf("%.0f ns: %.2f", pread, s.cost/s.base); s.cost > limit*s.base {
			t.Errorf("with system calls of %.0f ns: %.2f of os.File", pread, s.cost/s.base)
		}
	}
}

// log runs a log on a tmpfs, which is synced after each 40 writes.
func (s *simulation) log(pread float64) {
	s.pread, s.first = pread, firstPrefault
	s.open(16*BlockSize, true, true, false)
	for range 1000 {
		for range 40 {
			s.write(int64(s.calls)*64%(s.size-64), 64)
		}
		s.sync()
	}
	s.close()
}

// On a busy host, what is timed has often waited for a processor. That costs little of the gains, also
// after other work, which has left a mapping's price in the account.
func TestAccount_GainsOnBusyHost(t *testing.T) {
	switch {
	case Eager:
		t.Skip("the eager policy maps at once")
	case race.Detector:
		t.Skip("it finds nothing in one goroutine")
	}
	defer account.Unbound()
	atRandom := func(large bool, calls int, call func(s *simulation, off int64)) func(s *simulation) {
		return func(s *simulation) {
			s.open(1024*BlockSize, large, false, false)
			for range calls {
				call(s, s.random.Int64N(s.size-4096))
			}
			s.close()
		}
	}
	passOf4K := func(large bool) func(s *simulation) {
		return func(s *simulation) {
			s.open(1024*BlockSize, large, false, false)
			for off := int64(0); off < s.size; off += 4096 {
				s.read(off, 4096)
			}
			s.close()
		}
	}
	read := func(s *simulation, off int64) { s.read(off, 64) }
	write := func(s *simulation, off int64) { s.write(off, 64) }
	for i, c := range []struct {
		what  string
		run   func(s *simulation)
		limit float64
		poor  float64
		seeds uint64
	}{
		{"random reads", atRandom(true, 100_000, read), 0.37, 0.42, 24},
		{"random reads, small folios", atRandom(false, 200_000, read), 0.55, 0.57, 24},
		{"random writes", atRandom(true, 100_000, write), 0.44, 0.44, 120}, // 24 are too few: their mean may be 0.46, where that of 240 is 0.43
		{"a log", func(s *simulation) { s.log(430) }, 0.63, 0.70, 24},
		{"a pass in calls of 4 KiB", passOf4K(true), 0.50, 0.50, 24},
		{"a pass in calls of 4 KiB, small folios", passOf4K(false), 1.02, 1.02, 24},
	} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		for _, poor := range []bool{false, true} {
			limit, sum := c.limit, 0.0
			for seed := range c.seeds {
				s := newSimulation(seed)
				if s.busy = true; poor {
					account.Set(10_000)
					limit = c.poor
				}
				c.run(s)
				sum += s.cost / s.base
			}
			mean := sum / float64(c.seeds)
			if t.Logf("%s, poor %v: %.2f", c.what, poor, mean); mean > limit {
				t.Errorf("%s, poor %v: %.2f of os.File", c.what, poor, mean)
			}
		}
	}
}

// A trial that waits for a processor does not keep later ones from being tried.
func TestAccount_TrialThatWaited(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	const slice = 4_000_000
	for what, trial := range map[string]func(s *simulation){
		"load":     func(*simulation) { account.Spend(prices.Fault.Measure(slice, AheadBytes/BlockSize)) },
		"prefault": func(*simulation) { account.Spend(prices.Prefault.Measure(slice, 1)) },
		"mapping":  func(*simulation) { account.Spend(prices.Map.Measure(slice, 1)) },
	} {
		s := newSimulation(1)
		account.Set(account.Max)
		s.open(1024*BlockSize, true, false, false)
		trial(s)
		for range 100_000 {
			s.read(s.random.Int64N(s.size-64), 64)
		}
		if t.Logf("%s: %.2f", what, s.cost/s.base); s.cost > 0.4*s.base {
			t.Errorf("%s: random reads are %.2f of os.File", what, s.cost/s.base)
		}
		s.close()
	}
}

// Slow prefaults do not matter for a file that is not written.
func TestAccount_SlowPrefaults(t *testing.T) {
	if Eager {
		t.Skip("the eager policy pays nothing")
	}
	defer account.Unbound()
	for range 1000 {
		prices.Prefault.Measure(700_000, 1)
	}
	if price := prices.Prefault.Now(); price > account.Max/2 {
		t.Errorf("a price of %d is never paid", price)
	}
	s := newSimulation(1)
	prices.Prefault.Set(account.Max / 2)
	s.open(1024*BlockSize, true, false, false)
	for range 200 {
		s.read(100, 64) // it is mapped
	}
	for range 50_000 {
		s.read(s.random.Int64N(s.size-64), 64)
	}
	s.close()
	if t.Logf("%.2f", s.cost/s.base); s.cost > 0.6*s.base {
		t.Errorf("random reads are %.2f of os.File", s.cost/s.base)
	}
}

// A page that was added to a file after the fault of its block is a fault of its own once it has
// joined the block. The account pays for these, too.
func TestRead_FileGrows(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, reads := range []int{2, 3} {
		s := newSimulation(1)
		s.open(PageSize, true, false, false)
		for range 20_000 {
			for range reads {
				s.read(s.size-PageSize+100, 64)
			}
			s.size += PageSize
			s.both(s.pread)
			s.calls++
		}
		t.Logf("%d reads of each page: %.2f of os.File", reads, s.cost/s.base)
		if s.cost > s.allowed() {
			t.Errorf("%d reads of each page: %.0f ns, %.0f with os.File: %.0f more than allowed",
				reads, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// Where few reads of the last page end in zeros, the others are mapped.
func TestRead_FewZerosOfTheLastPage(t *testing.T) {
	if Eager {
		t.Skip("the eager policy does not count what is saved")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(PageSize, true, false, false)
	for i := range 100_000 {
		s.zeros = i%16 == 0
		s.read(s.random.Int64N(s.size-64), 64)
	}
	if s.cost > 0.2*s.base {
		t.Errorf("%.2f of os.File", s.cost/s.base)
	}
}

// Reads that are far dearer than a hot one say little of others.
func TestDraw_UnlikeReads(t *testing.T) {
	defer account.Unbound()
	newSimulation(1)
	var p Pages
	const hot, dear = 230, 4_000
	prices.Call.Set(hot)
	for range 60 {
		p.Took(TimedRead, 12<<10, dear)
		p.Took(TimedCopy, 12<<10, dear/2)
	}
	if call := prices.OfShortRead(); call > 2*hot {
		t.Errorf("a short read is believed to take %d ns; a hot one takes %d", call, hot)
	}
	if saved, _ := p.saving(64); saved > 2*hot {
		t.Errorf("a short read is believed to save %d ns; a hot one takes %d", saved, hot)
	}
}

// One read at the begin of each block again and again, of which a copy proves nothing until the next page is in memory.
func TestRead_LapsOverZeros(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no account")
	}
	defer account.Unbound()
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		s.pread = 700
		for range 9 {
			s.open(24*BlockSize, large, false, false)
			s.zeros = true
			for i := range int64(4_180) {
				s.read(i%24*BlockSize, 1+s.random.Int64N(1_433))
			}
			s.close()
		}
		if t.Logf("%.2f of os.File", s.cost/s.base); s.cost > 0.2*s.base {
			t.Errorf("large folios %v: %.2f of os.File", large, s.cost/s.base)
		}
	}
}

// Where zeros prove nothing, the page that does is in the next block. Its fault is paid as well, so
// reads that end in zeros do not go from block to block for nothing.
func TestRead_ZerosBlockAfterBlock(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		s.open(4096*BlockSize, large, false, false)
		s.zeros = true
		for range 300 {
			s.read(BlockSize-200, 64)
		}
		for block := range int64(4000) {
			for range 3 {
				s.read((block+1)*BlockSize-200, 64)
			}
		}
		s.close()
		t.Logf("%.2f of os.File", s.cost/s.base)
		if s.cost > s.allowed() {
			t.Errorf("large folios %v: %.0f ns, %.0f with os.File: %.0f more than allowed", large, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// One measured fault that has waited for a processor does not stop a file from buying blocks.
func TestLoad_OneHasWaited(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for _, blocks := range []int{16, 64} {
		run := func(waits bool) float64 {
			s := newSimulation(1)
			s.waits = waits
			s.open(int64(blocks)*BlockSize, true, false, false)
			for range blocks * 100 {
				s.read(int64(s.random.IntN(blocks))*BlockSize+100, 64)
			}
			s.close()
			return s.cost / s.base
		}
		usual, waited := run(false), run(true)
		t.Logf("%d blocks: %.2f of os.File, and %.2f after one that has waited", blocks, usual, waited)
		if waited > usual+0.05 {
			t.Errorf("%d blocks: %.2f of os.File, and %.2f after one that has waited", blocks, usual, waited)
		}
	}
}

// However much the account has, few of the writes after each of which a period ends begin one, and all do again once a
// write was mapped. Those that the account cannot pay do not count.
func TestBeginsPeriod_InVain(t *testing.T) {
	if Eager {
		t.Skip("the eager policy begins all")
	}
	defer account.Unbound()
	var n uint32
	asked := func() uint32 { n++; return n }
	begins := func(balance int64) (begun int) {
		for range 10_000 {
			if account.Set(balance); BeginsPeriod(asked) {
				begun++
			}
		}
		return begun
	}
	if begun := begins(account.Max); begun == 0 || begun > 200 {
		t.Errorf("%d periods begin with 10,000 writes", begun)
	}
	n = 0 // a write was mapped
	if begun := begins(-1); begun > 0 || n > 0 {
		t.Errorf("without an account, %d begin, and %d writes count", begun, n)
	}
	account.Set(account.Max)
	for range 2 {
		if !BeginsPeriod(asked) {
			t.Error("none begins after a mapped write")
		}
	}
}

// A program that asks for the state of a file after each write ends each period at once. What
// that costs is bounded, too, and leaves the account for other files.
func TestBeginsPeriod_EndsAtOnce(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	s := newSimulation(1)
	s.open(2*BlockSize, true, false, false)
	for range 20_000 {
		s.write(100, 64)
	}
	if !s.period {
		t.Fatal("no write is mapped after many")
	}
	for range 50_000 {
		s.write(100, 64)
		s.period = false
	}
	if s.cost > s.allowed() || account.Balance() < -periodCalls*prices.Call.Now() {
		t.Errorf("%.0f ns, %.0f with os.File: %.0f more than allowed; %d are left",
			s.cost, s.base, s.cost-s.allowed(), account.Balance())
	}
}
